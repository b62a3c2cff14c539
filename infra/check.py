#!/usr/bin/env python3
"""Checks the state machines, the templates and the events without AWS: statelint, cfn-lint, and what neither of them sees.

    check.py           prints what is wrong, exit status 1 if anything is

Emulators accept a Next that leads nowhere and a substitution that is never filled in; this is where such a mistake is found.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import inline_policies  # noqa: E402  (beside this file)

MACHINES = ("teardown", "drive", "keeper", "sweep", "announce")
TEMPLATES = ("template.yaml", "target-role.yaml")
LAMBDA_FAULTS = {"Lambda.ServiceException", "Lambda.AWSLambdaException", "Lambda.SdkClientException", "Lambda.TooManyRequestsException"}
# What a state may retry besides Lambda's own faults: an error of our own, and any crash of a part that may be repeated safely. A step is
# never retried for a crash: that is a result, and the planner's to judge.
RETRIED = {
    ("teardown", "Check the request"): {"NotLearnt", "States.ALL"},
    ("teardown", "Start the keeper"): {"States.ALL"},
    ("teardown", "Take the lock"): {"States.ALL"},
    ("teardown", "Finish"): {"States.ALL"},
    ("drive", "Plan"): {"States.ALL"},
    ("keeper", "Close"): {"States.ALL"},
    ("keeper", "Finish"): {"States.ALL"},
    ("sweep", "Read the sweep"): {"NotLearnt", "States.ALL"},
    ("sweep", "Choose"): {"States.ALL"},
    ("sweep", "Not read"): {"States.ALL"},
    ("sweep", "Admit the sweep"): {"States.ALL"},
    ("sweep", "Next wave"): {"States.ALL"},
    ("sweep", "Note how it ended"): {"States.ALL"},
    ("sweep", "Note how it failed"): {"States.ALL"},
    ("sweep", "Sum up"): {"States.ALL"},
    ("announce", "Word the news"): {"States.ALL"},
    ("announce", "Send the event"): {"States.ALL"},
    ("announce", "Tell the topic"): {"States.ALL"},
}
SYNC = "states:startExecution.sync:2"
CONTEXT = {"$$.Execution.Id", "$$.Execution.Name", "$$.State.RetryCount", "$$.Map.Item.Value"}
# What a state's data can begin with: the members that the machine keeps, and the errors and answers that states put there.
MEMBERS = {
    "teardown": {"run", "drive", "plan", "next", "error", "cause", "lock", "drove", "end", "crash", "report", "closing"},
    "drive": {"run", "drive", "plan", "results", "item", "crash"},
    "keeper": {"execution", "answer", "end"},
    "sweep": {"sweep", "place", "places", "next", "error", "cause", "selected", "admitted", "at", "wave", "results", "item", "ended", "end", "crash", "wording", "report"},
    "announce": {"execution", "topic", "news", "crash"},
}
INTRINSICS = {"States.Format", "States.MathAdd", "States.JsonMerge", "States.JsonToString"}
EVENTS = HERE.parent / "events"


def definition(name):
    """The machine, with every substitution filled in by something plausible, and the names of its substitutions."""
    text = (HERE / f"{name}.asl.json").read_text()
    names = set(re.findall(r"\$\{(\w+)\}", text))
    values = {"Partition": "aws", "MaxConcurrency": "40", "SweepConcurrency": "10"}
    for key in names:
        text = text.replace("${%s}" % key, values.get(key, f"arn:aws:lambda:us-east-1:123456789012:function:{key}"))
    return json.loads(text), names


def scopes(machine):
    """The machine and every state machine inside it, as (states, start)."""
    yield machine["States"], machine["StartAt"]
    for state in machine["States"].values():
        for inner in [state.get("ItemProcessor"), *state.get("Branches", [])]:
            if inner:
                yield from scopes(inner)


def next_states(state):
    """Every state that `state` can lead to."""
    for holder in (state, *state.get("Catch", []), *state.get("Choices", [])):
        for key in ("Next", "Default"):
            if key in holder:
                yield holder[key]


def strings(value, key=""):
    """Every (key, string) below `value`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str):
        yield key, value


def check_machine(name):
    from statelint.config import Config
    from statelint.linter import Linter
    from statelint.problem import ProblemType

    machine, names = definition(name)
    yield from Linter.validate(machine, Config({ProblemType.FLOAT}))  # a BackoffRate of 2 is a float to Step Functions
    if not machine.get("TimeoutSeconds"):
        yield "the machine has no TimeoutSeconds"
    if len(json.dumps(machine)) > 1_000_000:
        yield "the definition is larger than 1 MB"
    for states, start in scopes(machine):
        reached, todo = set(), [start]
        while todo:
            state = todo.pop()
            if state not in states:
                yield f"a Next leads to {state!r}, which does not exist"
            elif state not in reached:
                reached.add(state)
                todo.extend(next_states(states[state]))
        yield from (f"{state}: never reached" for state in states.keys() - reached)
        for title, state in states.items():
            yield from (f"{title}: {problem}" for problem in check_state(name, title, state))
    for key, text in strings(machine):
        yield from check_reference(name, key, text)
    yield from check_substitutions(name, names)


def check_state(machine, title, state):
    if len(title) > 80:
        yield "the name is longer than 80 characters"
    if state["Type"] == "Choice" and "Default" not in state:
        yield "a Choice without Default fails with a text that helps nobody"
    if state["Type"] == "Fail" and not ("ErrorPath" in state and "CausePath" in state):
        yield "a Fail state says its error and cause by ErrorPath and CausePath"
    if state["Type"] != "Task":
        return
    if state["Resource"].endswith(SYNC):
        if "Retry" in state:
            yield "what may still be under way is never retried"
    elif not 60 < state.get("TimeoutSeconds", 0) <= 90:
        yield "a Task has a TimeoutSeconds above the functions' 60 and of at most 90"
    retried = {error for retry in state.get("Retry", []) for error in retry["ErrorEquals"]}
    for error in retried - LAMBDA_FAULTS - RETRIED.get((machine, title), set()):
        yield f"retries {error}"
    if ":lambda:" in state["Resource"] and not LAMBDA_FAULTS <= retried:
        yield "does not retry Lambda's own faults"
    for retry in state.get("Retry", []):
        if retry.get("JitterStrategy") != "FULL" or "MaxDelaySeconds" not in retry:
            yield "a Retry has JitterStrategy FULL and MaxDelaySeconds"


def check_reference(machine, key, text):
    """Paths and intrinsic functions: is what they name known?"""
    is_path = key.endswith(".$") or key.endswith("Path") or key in ("Variable",)
    if not is_path:
        if text.startswith("$"):
            yield f"{key} is {text!r}, which is not evaluated; the key needs to end in .$"
        return
    for function in re.findall(r"States\.\w+", text):
        if function not in INTRINSICS:
            yield f"{key}: {function} has not been tried on the engines"
    for path in re.findall(r"\$\$?[\w.]*", re.sub(r"'[^']*'", "", text)):
        if path.startswith("$$"):
            if path not in CONTEXT:
                yield f"{key}: {path} is not a part of the context object that this app uses"
        elif path != "$" and path.split(".")[1] not in MEMBERS[machine] | {"Output"}:
            yield f"{key}: nothing puts {path} there"


def template(name):
    """The template as data; functions such as !Ref become {"Ref": …}."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def short(loader, suffix, node):
        kind = {yaml.ScalarNode: loader.construct_scalar, yaml.SequenceNode: loader.construct_sequence}
        read = kind.get(type(node), loader.construct_mapping)
        value = read(node) if isinstance(node, yaml.ScalarNode) else read(node, deep=True)
        return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}

    Loader.add_multi_constructor("!", short)
    return yaml.load((HERE / name).read_text(), Loader)


def check_substitutions(name, names):
    app = template("template.yaml")
    machine = app["Resources"][f"{name.capitalize()}StateMachine"]["Properties"]
    given = set(machine["DefinitionSubstitutions"])
    yield from (f"the template gives no {missing}" for missing in names - given)
    yield from (f"the template gives {extra}, which the definition does not use" for extra in given - names)
    if machine["DefinitionS3Location"]["Key"]["Fn::Sub"] != "${ArtifactPrefix}%s.asl.json" % name:
        yield "the template points at another definition"


def check_template(name):
    from cfnlint.api import lint

    text = (HERE / name).read_text()
    found = lint(text, regions=["us-east-1"])
    yield from (f"{match.linenumber}: {match.rule.id} {match.message[:200]}" for match in found)
    document = template(name)
    for key, parameter in document["Parameters"].items():
        if "Description" not in parameter:
            yield f"parameter {key} has no Description"
        if "AllowedPattern" not in parameter and "AllowedValues" not in parameter and "MaxValue" not in parameter and key != "ScheduleTimezone":
            yield f"parameter {key} accepts anything"
    grouped = [p for group in document["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"] for p in group["Parameters"]]
    if sorted(grouped) != sorted(document["Parameters"]):
        yield f"the parameter groups and the parameters differ: {sorted(set(grouped) ^ set(document['Parameters']))}"
    if "arn:aws:" in json.dumps(document["Resources"], default=str):
        yield "an ARN names the partition; use ${AWS::Partition}"
    for key, resource in document["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Function" and resource["Properties"].get("Timeout") != 60:
            yield f"{key}: every function has a Timeout of 60 seconds; the drain relies on it"


OPTIONS = {"removeProtection", "deleteData", "skipGuarded", "skipFinalSnapshot", "purgeEvents", "lockWait"}
REQUEST = OPTIONS | {"stack", "region", "confirm", "dryRun", "bucket", "prefix", "target", "allowNestedChild", "expectedLastModified"}
SWEEP = OPTIONS | {"name", "select", "confirm", "dryRun", "accounts", "target", "bucket", "prefix"}
OTHER = {"force-unlock": {"action", "stack", "region", "bucket", "prefix", "target"}, "stop": {"executionArn", "error", "cause"}}


def requests(path):
    """What an event file asks for: itself, or the details of the events that it lists."""
    event = json.loads(path.read_text())
    return [json.loads(entry["Detail"]) for entry in event] if isinstance(event, list) else [event]


def check_events():
    readme = (EVENTS / "README.md").read_text()
    for path in sorted(EVENTS.glob("*.json")):
        if f"`{path.name}`" not in readme:
            yield f"{path.name}: not in events/README.md"
        is_sweep = path.stem.startswith("sweep")
        fields = OTHER.get(path.stem) or (SWEEP if is_sweep else REQUEST)
        try:
            asked = requests(path)
        except ValueError as error:
            yield f"{path.name}: {error}"
            continue
        for request in asked:
            yield from (f"{path.name}: unknown field {unknown}" for unknown in request.keys() - fields)
            named = request.get("name" if is_sweep else "stack")
            if path.stem not in OTHER and not request.get("dryRun") and request.get("confirm") != named:
                yield f"{path.name}: confirm is not the name of what goes"


def main():
    found = []
    for name in MACHINES:
        found += [f"{name}.asl.json: {problem}" for problem in check_machine(name)]
    for name in TEMPLATES:
        found += [f"{name}: {problem}" for problem in check_template(name)]
        if inline_policies.rendered(name) != (HERE / name).read_text():
            found.append(f"{name}: the generated block differs from policies/*.json; run infra/inline_policies.py")
    found += inline_policies.problems()
    found += [f"events/{problem}" for problem in check_events()]
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"infra: {len(MACHINES)} state machines, {len(TEMPLATES)} templates: " + (f"{len(found)} problems" if found else "sound"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
