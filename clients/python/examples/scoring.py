"""Actor `scoring`: gives applicants a score. The README beside has a scenario that asks it."""

import logging

from pagurus import Actor, Fail, Task

actor = Actor()


@actor.task("scoring")
def score(task: Task) -> dict[str, object]:
    income = task.body.get("income")
    if income is None:
        raise Fail("scoring.incomplete", "the applicant has no income")
    return {"score": min(1.0, income / 100_000), "order": task.order}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    actor.run()
