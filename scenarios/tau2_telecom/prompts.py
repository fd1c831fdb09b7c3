"""The words around the policy: notes for the agent, and the prompt of the simulated caller."""

from __future__ import annotations

from duologue.records.scenario import Instructions, Persona, Task
from duologue.toolkit.tool import END_CALL_TOOL
from scenarios.tau2_telecom.composition import TelecomTask, load_families, load_record

NOTES_HEADING = "## Additional Notes to Follow"

VOICE_GUIDELINES = """\
### You are on the phone

- Everything you say is spoken aloud. Use short, plain sentences, and no lists, headings, markdown, emoji or
  symbols.
- Say one thing or ask one question at a time, then let the caller answer.
- Read phone numbers, ids and codes digit by digit or letter by letter. Say amounts and dates as a person would.
- Never say the name of a tool, and never read out raw data. Say "please restart your phone", not the function's
  name.
- Speech is misheard easily. If an answer makes no sense, or a number has the wrong length, ask the caller to
  repeat it.
- Before you transfer the caller, say that you are going to, and why."""

END_OF_CALL_GUIDELINE = f"""\
### Ending the call

When the problem is solved and the caller has confirmed that nothing else is needed, say one short goodbye and
then call `{END_CALL_TOOL}` once. Do not call it while a step is still open or unconfirmed. A transfer to a human
ends the call by itself."""

TELECOM_AGENT_TOOL_AVAILABILITY_NOTE = """\
### Which tools are yours

You can call these 13 tools, besides the one that ends the call:

- look-up: get_customer_by_phone, get_customer_by_id, get_customer_by_name, get_details_by_id
- billing: get_bills_for_customer, send_payment_request
- line: suspend_line, resume_line, enable_roaming, disable_roaming
- data: get_data_usage, refuel_data
- hand-over: transfer_to_human_agents

The policy also mentions things that exist only on the caller's phone. You cannot call any of these 30; ask the
caller, in plain words, to do them and to tell you what the phone shows:

- switches: toggle_airplane_mode, toggle_data, toggle_roaming, toggle_wifi, toggle_wifi_calling,
  toggle_data_saver_mode
- looking: check_status_bar, check_network_status, check_sim_status, check_wifi_status, check_wifi_calling_status,
  check_data_restriction_status, check_network_mode_preference, check_apn_settings, check_vpn_status,
  check_installed_apps, check_app_status, check_app_permissions, check_payment_request, can_send_mms,
  run_speed_test
- repairs and settings: reboot_device, reseat_sim_card, reset_apn_settings, set_apn_settings,
  set_network_mode_preference, grant_app_permission, connect_vpn, disconnect_vpn, make_payment"""

TELECOM_AGENT_STAY_ON_TASK_GUIDELINE = """\
### Stay with the caller's problem

Solve what the caller rang about, on the line the caller rang about. The account may show other things, such as
another line that is suspended or a bill that is overdue. Leave them alone unless they cause the problem at hand
or the caller asks about them."""

TELECOM_AGENT_HOME_NETWORK_NOTE = """\
### Where the caller is

The home network is the United States. When the complaint is about connectivity (mobile data, picture messages),
make "Where are you physically located right now?" your first diagnostic question, right after you have found the
line. If the caller is outside the United States, check roaming next: on the line with your tools, and on the
phone through the caller."""

TELECOM_USER_INSTRUCTIONS = (
    "When the agent greets you, say in one or two sentences what does not work. Give your name or number when "
    "you are asked for it.",
    "Follow the agent's instructions one at a time. When you are asked to check or change something on your phone, "
    "do that one thing with the matching phone tool. If you are not sure what is meant, or whether you really "
    "have to do it, ask.",
    "After each phone tool, tell the agent in plain words what the phone shows. Then wait for the next instruction.",
    "When the agent asks you to test whether the problem is gone, test it on your phone and say what it shows. If "
    "it is gone, confirm that, say that you need nothing else, and say goodbye. If it is not, go on. If you are told "
    "that you will be transferred to a colleague, accept it and say goodbye.",
    f"After your goodbye, hang up: call {END_CALL_TOOL} once. Also hang up if the agent has said goodbye to you, or "
    "clearly cannot help you. Never hang up while the agent is still working on your problem.",
)

TELECOM_PASSIVE_TOOL_USE_GUIDELINE = (
    "Your phone tools are passive. Never use one unless the agent, in its last turn, asked you for exactly that "
    "action; one request, one tool. Never try out repairs on your own, never repeat a switch that you have just "
    "flipped, and never speak as if you were the agent or announce what the agent will do."
)

CALLER_GUIDELINES = (
    "You are the customer on a phone call. Speak in short, natural sentences; no lists, no markdown, no tool names, "
    "no raw data.",
    "Say phone numbers and codes digit by digit.",
    "You know only what stands in this prompt and what your phone tools have shown you. Answer questions about the "
    "phone only from a tool result. For anything else that you do not know, say that you do not know.",
    "Do not volunteer what the agent has not asked for, and do not guess the cause of the problem.",
    "After the first repair that does not help, show a little frustration, and stay cooperative.",
    "You may need a fresh look at the phone after a change; the agent will ask for it.",
)


def load_persona(label: str) -> Persona:
    """Return the caller's persona; the label ``None`` gives an empty one."""
    personas: dict[str, Persona | None] = load_record("personas.json", dict[str, Persona | None])
    return personas[label] or Persona()


def agent_notes() -> str:
    """Return what follows the policy in the agent's prompt."""
    notes = (
        VOICE_GUIDELINES,
        END_OF_CALL_GUIDELINE,
        TELECOM_AGENT_TOOL_AVAILABILITY_NOTE,
        TELECOM_AGENT_STAY_ON_TASK_GUIDELINE,
        TELECOM_AGENT_HOME_NETWORK_NOTE,
    )
    return "\n\n".join([NOTES_HEADING, *notes])


def caller_task(family: str) -> Task:
    """Return what the caller wants and why."""
    caller = load_families().families[family].caller
    return Task(goal=f"You call your mobile carrier's customer service. {caller.complaint}", background=caller.wish)


def telephone_actions() -> Instructions:
    """Return how any caller proceeds: the four-step script and the rules of a telephone call."""
    return Instructions(
        instructions=TELECOM_USER_INSTRUCTIONS, guidelines=(*CALLER_GUIDELINES, TELECOM_PASSIVE_TOOL_USE_GUIDELINE)
    )


def caller_actions(family: str) -> Instructions:
    """Return how the caller of a family proceeds: as any caller, and by the rules of the family."""
    script = telephone_actions()
    rules = list(script.guidelines)
    caller = load_families().families[family].caller
    if caller.reads_status_bar_when_asked_for_status:
        rules.append(
            "When the agent asks for the state of the phone or of the service in general, look at the status bar."
        )
    if caller.accepts_paying_bills:
        rules.append(
            "If the agent asks you to pay an overdue bill, agree. When a payment request has arrived and you are asked "
            "to pay it, do so."
        )
    if caller.may_refuel_gb is not None:
        rules.append(
            f"If the agent offers to add data, ask for {caller.may_refuel_gb:g} gigabytes, and agree to the cost."
        )
    if caller.willing_to_change_plan is False:
        rules.append("You do not want another plan. Refuse a plan change.")
    if caller.accepts_other_speed_labels is False:
        rules.append("Any speed rating other than excellent is not good enough: say so, and ask the agent to go on.")
    return Instructions(instructions=script.instructions, guidelines=tuple(rules))


def caller_information(task: TelecomTask) -> tuple[str, ...]:
    """Return the facts the caller knows about itself, as sentences."""
    caller, family = load_families().caller, load_families().families[task.family].caller
    facts = [f"Your name is {caller.name}.", f"The phone number of your line is {caller.phone_number}."]
    if "location" in family.user_knows:
        where = f"abroad, in {caller.abroad}" if task.is_abroad else f"at home, in the {caller.home}"
        facts.append(f"Right now you are {where}.")
    if family.has_wifi is False:
        facts.append("There is no Wi-Fi where you are.")
    return tuple(facts)
