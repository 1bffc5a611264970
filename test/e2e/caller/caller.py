"""Calls a deployment by its OpenAPI document alone, and holds what it sends and gets against that.

Usage: ISOLA_KEY=... python3 caller.py <url> [document.json] < steps.json

First every GET that needs nothing is called, then each step: {"operation": id, "parameters": {...}, "body": {...}}.
"$<operation>.<field>" in a step stands for what came of an earlier one. Prints the routes that were called, one a line
with the status. Ends with 1 and the place of what does not fit. Needs nothing but Python's own library.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request


class Misfit(Exception):
    pass


# What only says something to people, or is looked at elsewhere.
NOTES = {"description", "default", "title", "format", "$schema", "examples"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: not isinstance(v, bool) and (isinstance(v, int) or isinstance(v, float) and v.is_integer()),
}


def is_same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Document:
    def __init__(self, text):
        self.root = json.loads(text)
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in self.root["paths"].items()
            for method, operation in methods.items()
        }

    def at(self, node):
        """The thing itself where there is a reference to it."""
        if "$ref" not in node:
            return node
        found = self.root
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return self.at(found)

    def check(self, value, schema, place):
        """Raises Misfit if a value is not as a schema says. A keyword that is not known here is refused, not passed over."""
        if schema is True or schema is False:
            if schema is False:
                raise Misfit(f"{place} may not be there")
            return
        for keyword, said in schema.items():
            if keyword in NOTES:
                continue
            rule = getattr(self, "check_" + keyword.replace("$", ""), None)
            if rule is None:
                raise Misfit(f"{place}: this program does not know the keyword {keyword}")
            rule(value, said, schema, place)

    def check_ref(self, value, said, schema, place):
        self.check(value, self.at({"$ref": said}), place)

    def check_type(self, value, said, schema, place):
        names = said if isinstance(said, list) else [said]
        if not any(TYPES[name](value) for name in names):
            raise Misfit(f"{place} is {json.dumps(value)[:80]}, not {' or '.join(names)}")

    def check_enum(self, value, said, schema, place):
        if not any(is_same(value, one) for one in said):
            raise Misfit(f"{place} is {json.dumps(value)[:80]}, not one of {said}")

    def check_const(self, value, said, schema, place):
        self.check_enum(value, [said], schema, place)

    def check_properties(self, value, said, schema, place):
        if isinstance(value, dict):
            for name, inner in said.items():
                if name in value:
                    self.check(value[name], inner, f"{place}/{name}")

    def check_required(self, value, said, schema, place):
        if isinstance(value, dict):
            for name in said:
                if name not in value:
                    raise Misfit(f"{place}/{name} is missing")

    def check_additionalProperties(self, value, said, schema, place):
        if isinstance(value, dict):
            for name in value.keys() - schema.get("properties", {}).keys():
                self.check(value[name], said, f"{place}/{name}")

    def check_propertyNames(self, value, said, schema, place):
        if isinstance(value, dict):
            for name in value:
                self.check(name, said, f"{place}/{name}")

    def check_items(self, value, said, schema, place):
        if isinstance(value, list):
            for index, one in enumerate(value):
                self.check(one, said, f"{place}/{index}")

    def check_anyOf(self, value, said, schema, place):
        problems = []
        for one in said:
            try:
                return self.check(value, one, place)
            except Misfit as problem:
                problems.append(str(problem))
        raise Misfit(" or ".join(problems))

    check_oneOf = check_anyOf

    def check_allOf(self, value, said, schema, place):
        for one in said:
            self.check(value, one, place)

    def check_pattern(self, value, said, schema, place):
        if isinstance(value, str) and not re.search(said, value):
            raise Misfit(f"{place} does not match {said}")

    def measure(self, value, is_wrong, place, what):
        if is_wrong(value):
            raise Misfit(f"{place} is {what}")

    def check_minLength(self, value, said, schema, place):
        self.measure(value, lambda v: isinstance(v, str) and len(v) < said, place, "too short")

    def check_maxLength(self, value, said, schema, place):
        self.measure(value, lambda v: isinstance(v, str) and len(v) > said, place, "too long")

    def check_minItems(self, value, said, schema, place):
        self.measure(value, lambda v: isinstance(v, list) and len(v) < said, place, "too short")

    def check_maxItems(self, value, said, schema, place):
        self.measure(value, lambda v: isinstance(v, list) and len(v) > said, place, "too long")

    def check_minimum(self, value, said, schema, place):
        self.measure(value, lambda v: TYPES["number"](v) and v < said, place, "too small")

    def check_maximum(self, value, said, schema, place):
        self.measure(value, lambda v: TYPES["number"](v) and v > said, place, "too large")


class Caller:
    def __init__(self, url, key, document):
        self.url = url
        self.key = key
        self.document = document
        self.results = {}

    def call(self, operation_id, parameters=None, body=None):
        method, path, operation = self.document.operations[operation_id]
        parameters = parameters or {}
        query, headers = {}, {}
        if operation.get("security"):
            headers["authorization"] = f"Bearer {self.key}"
        known = {one["name"]: one for one in operation.get("parameters", [])}
        for name, one in known.items():
            if name not in parameters:
                if one["required"]:
                    raise Misfit(f"{operation_id}: {name} is missing")
                continue
            value = parameters[name]
            self.document.check(value, one["schema"], f"{operation_id} {name}")
            if one["in"] == "path":
                path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
            else:
                {"query": query, "header": headers}[one["in"]][name] = value
        if parameters.keys() - known.keys():
            raise Misfit(f"{operation_id} has no parameter {parameters.keys() - known.keys()}")
        sent = None
        if body is not None:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            self.document.check(body, schema, f"{operation_id} request")
            headers["content-type"] = "application/json"
            sent = json.dumps(body).encode()
        address = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(address, sent, headers, method=method.upper())
        status, kind, text = self.send(request)
        print(f"{method.upper()} {operation_id} {status}")
        replies = operation["responses"]
        if str(status) not in replies:
            raise Misfit(f"{operation_id} {status}: no such status: {text[:300]}")
        content = self.document.at(replies[str(status)])["content"]
        if kind not in content:
            raise Misfit(f"{operation_id} {status}: no such content type {kind}")
        if kind == "application/json":
            self.results[operation_id] = json.loads(text)
            self.document.check(
                self.results[operation_id], content[kind]["schema"], f"{operation_id} {status}"
            )
        return status

    def send(self, request):
        try:
            reply = urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            reply = error
        with reply:
            return reply.status, reply.headers.get_content_type(), reply.read().decode()

    def filled(self, value):
        """A step with what earlier ones came to."""
        if isinstance(value, dict):
            return {name: self.filled(one) for name, one in value.items()}
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        operation_id, field = value[1:].split(".")
        return self.results[operation_id][field]

    def needs_nothing(self, method, operation):
        parameters = operation.get("parameters", [])
        return method == "get" and not any(one["required"] for one in parameters)


def main():
    url, *files = sys.argv[1:]
    key = os.environ["ISOLA_KEY"]
    if files:
        with open(files[0], encoding="utf8") as file:
            text = file.read()
    else:
        request = urllib.request.Request(
            f"{url}/api/openapi.json", headers={"authorization": f"Bearer {key}"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:
            text = reply.read().decode()
    caller = Caller(url, key, Document(text))
    try:
        for operation_id, (method, _, operation) in caller.document.operations.items():
            if caller.needs_nothing(method, operation):
                if caller.call(operation_id) != 200:
                    raise Misfit(f"{operation_id} did not answer 200")
        for step in json.load(sys.stdin):
            status = caller.call(
                step["operation"],
                caller.filled(step.get("parameters", {})),
                caller.filled(step["body"]) if "body" in step else None,
            )
            if status != step.get("status", 200):
                raise Misfit(f"{step['operation']} answered {status}")
    except Misfit as misfit:
        print(misfit, file=sys.stderr)
        sys.exit(1)


main()
