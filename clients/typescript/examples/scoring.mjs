// Actor `scoring`: gives applicants a score. The README beside has a scenario that asks it. Needs amqplib.

import { Actor, Fail } from "pagurus-client/actor";

export function score(task) {
  const { income } = task.body;
  if (income === undefined) throw new Fail("scoring.incomplete", "the applicant has no income");
  if (typeof income !== "number") throw new TypeError("the income is no number");
  return { score: Math.min(1, income / 100_000), order: task.order };
}

// When it is run, and not when it is imported.
if (process.argv[1] === import.meta.filename) {
  await new Actor().task("scoring", score).run();
}
