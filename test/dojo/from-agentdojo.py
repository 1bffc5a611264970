"""Writes AgentDojo's suites as the JSON files that `npm run dojo -- --data <folder>` reads.

pip install agentdojo && python test/dojo/from-agentdojo.py <folder>

Times of the day on which it runs get into what mails return; nothing of the figures depends on them. Where
`current_day.isoformat()` of workspace/user_tasks.py fails (a fork has a text there), take `.isoformat()` away.

Runs the calls of each task's ground truth: once as the suite is, for what comes back, and once with a mark in each
place that an attacker can write, for which of them are in it.
"""
import hashlib
import json
import sys
from pathlib import Path

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.base_tasks import BaseUserTask
from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSIONS = ["v1", "v1.1", "v1.1.1", "v1.1.2", "v1.2", "v1.2.1"]


def run(suite, task, injections):
    environment = suite.load_and_inject_default_environment(injections)
    if isinstance(task, BaseUserTask):
        environment = task.init_environment(environment)
    runtime = FunctionsRuntime(suite.tools)
    for call in task.ground_truth(environment.model_copy(deep=True)):
        result, error = runtime.run_function(environment, call.function, call.args)
        yield call, error or tool_result_to_str(result)


def calls_of(suite, task, results):
    marks = {vector: f"---MARK_{vector}---" for vector in suite.get_injection_vector_defaults()}
    marked = [text for _, text in run(suite, task, marks)]
    for (call, text), other in zip(run(suite, task, {}), marked, strict=True):
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        results[key] = text
        yield {
            "tool": call.function,
            "args": json.loads(json.dumps(call.args, default=str)),
            "result": key,
            "vectors": [vector for vector, mark in marks.items() if mark in other],
        }


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, newest in get_suites(VERSIONS[-1]).items():
        file = {"suite": name, "versions": VERSIONS, "user": {}, "injection": {}, "results": {}}
        file["tools"] = [
            {"name": tool.name, "inputSchema": tool.parameters.model_json_schema()}
            for tool in newest.tools
        ]
        for version in VERSIONS:
            suite = get_suites(version)[name]
            for kind, wants in (("user", "prompt"), ("injection", "goal")):
                for task_id, task in getattr(suite, f"{kind}_tasks").items():
                    calls = list(calls_of(suite, task, file["results"]))
                    form = {wants: getattr(task, wants.upper()), "calls": calls}
                    forms = file[kind].setdefault(task_id, [])
                    alike = (one for one in forms if one | {"versions": 0} == form | {"versions": 0})
                    same = next(alike, None)
                    if same:
                        same["versions"].append(version)
                    else:
                        forms.append({"versions": [version], **form})
        (folder / f"{name}.json").write_text(json.dumps(file, indent=1))


main(Path(sys.argv[1]))
