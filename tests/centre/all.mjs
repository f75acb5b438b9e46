// All tests, one after the other, in one browser.

import "./day_of_an_operator.mjs";
import "./day_of_a_writer.mjs";
import "./form_of_an_order.mjs";
import "./operator_tasks.mjs";
import "./page_of_an_order.mjs";
import "./page_of_schedules.mjs";
import "./ui_2_times.mjs";
import "./ui_3_budget.mjs";
import "./ui_4_address.mjs";
import "./ui_4_states.mjs";
import "./ui_5_pages.mjs";
import "./ui_5_guide.mjs";
import "./ui_5_use.mjs";
import "./what_if.mjs";
