#!/usr/bin/env python3
"""Puts the delete policies (policies/*.json) into the templates, between the lines `# BEGIN GENERATED delete policies` and `# END GENERATED`.

    inline_policies.py            rewrite the blocks
    inline_policies.py --check    fail when a block differs from the policies, or a policy is larger than IAM allows

One file is one managed policy. A role takes ten, one of which is kept for ExtraDeletePolicyArn; a policy holds 6,144 characters besides white space.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "  # BEGIN GENERATED delete policies", "  # END GENERATED"
# template: (role that gets the policies, what their names start with)
TEMPLATES = {"template.yaml": ("WorkerRole", "${AWS::StackName}"), "target-role.yaml": ("TargetRole", "${AppName}-target")}
MOST_POLICIES, MOST_CHARACTERS = 9, 6144


def policies():
    """{name: document}, sorted by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((HERE / "policies").glob("*.json"))}


def problems():
    found = []
    if len(policies()) > MOST_POLICIES:
        found.append(f"{len(policies())} delete policies; a role takes {MOST_POLICIES} beside ExtraDeletePolicyArn")
    for name, document in policies().items():
        size = len(re.sub(r"\s", "", json.dumps(document)))
        if size >= MOST_CHARACTERS:
            found.append(f"policies/{name}.json has {size} characters; IAM takes fewer than {MOST_CHARACTERS}")
    return found


def scalar(value):
    """A string of a policy as YAML; pseudo parameters such as ${AWS::Partition} are filled in by CloudFormation."""
    return ("!Sub " if "${AWS::" in value else "") + json.dumps(value)


def lines(value, indent):
    """The JSON `value` as lines of YAML."""
    pad = " " * indent
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield f"{pad}{key}:"
            yield from lines(inner, indent + 2)
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield f"{pad}{key}:"
            for item in inner:
                first, *rest = lines(item, indent + 4)
                yield f"{pad}  - {first.strip()}"
                yield from rest
        elif isinstance(inner, list):
            yield f"{pad}{key}:"
            yield from (f"{pad}  - {scalar(item)}" for item in inner)
        else:
            yield f"{pad}{key}: {scalar(inner)}"


def block(role, prefix):
    """The resources of the block, as lines of YAML."""
    for name, document in policies().items():
        logical = "Delete" + "".join(word.capitalize() for word in name.split("-")) + "Policy"
        yield f"  {logical}:"
        yield "    Type: AWS::IAM::ManagedPolicy"
        yield "    Properties:"
        yield f"      ManagedPolicyName: !Sub {json.dumps(f'{prefix}-delete-{name}')}"
        yield f"      Roles: [!Ref {role}]"
        yield "      PolicyDocument:"
        yield from lines(document, 8)
        yield ""


def rendered(template):
    """The template's text with a fresh block."""
    text = (HERE / template).read_text()
    before, rest = text.split(BEGIN + "\n")
    _, after = rest.split(END + "\n")
    return before + "\n".join([BEGIN, *block(*TEMPLATES[template])]) + "\n" + END + "\n" + after


def main():
    found = problems()
    for template in TEMPLATES:
        fresh = rendered(template)
        if "--check" in sys.argv[1:]:
            if fresh != (HERE / template).read_text():
                found.append(f"{template}: the generated block differs from policies/*.json; run infra/inline_policies.py")
        else:
            (HERE / template).write_text(fresh)
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
