"""An actor `scoring`: gives applicants a score. See README.md for a scenario that asks it."""

import logging

from pagurus_actor import Actor, Fail


def score(task):
    applicant = task["body"] or {}
    if "income" not in applicant:
        raise Fail("scoring.incomplete", "the applicant has no income")
    return {"score": min(1.0, applicant["income"] / 100_000), "order": task["order"]}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("pika").setLevel(logging.WARNING)
    Actor("scoring", score, prefetch=8).run()
