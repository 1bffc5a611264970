// What a run goes on with: as it was when it began.

const tests = ['test/unit/sessions/pinned-runs.test.ts']
const at = (file, entries) => entries.map((entry) => ({ file, tests, project: 'unit', ...entry }))

const lowered = ['test/unit/sessions/lowered-limits.test.ts']
const raised = ['test/unit/kernel/raised-limits.test.ts']

export const pinned = [
  {
    file: 'src/sessions/runs/lowered-limits.ts',
    tests: lowered,
    project: 'unit',
    name: 'lowered-after-a-raise',
    what: 'E1: what was raised before an operator lowered it gives way',
    find: 'one === name && amount > amountOf(now, one)',
    replace: 'false',
  },
  {
    file: 'src/kernel/plan-turn.ts',
    tests: raised,
    project: 'unit',
    name: 'platform-reserved',
    what: 'E1: what a turn may cost the platform is reserved before it begins',
    find: 'turns: 1, platformNanoUsd: platform?.turnNanoUsd() ?? 0',
    replace: 'turns: 1, platformNanoUsd: 0',
  },
  ...at('src/kernel/gates.ts', [
    {
      name: 'changed-tool',
      what: 'I19: a tool that is not what its run knows is not called',
      find: 'if (refusal) return { deny: refusal }',
      replace: '',
    },
  ]),
  ...at('src/sessions/runs/run-work.ts', [
    {
      name: 'pinned-agent',
      what: 'I19: a run that is taken up has the prompt and the model that it began with',
      find: 'await loadAgent(submission, runtime, pinnedIn(row, store))',
      replace: 'await loadAgent(submission, runtime)',
    },
  ]),
  ...at('src/sessions/runs/known-tools.ts', [
    {
      name: 'work-found-again',
      what: 'E1: a call that works elsewhere finds its work again, whatever its tool is by now',
      find: 'if (!outcome && !pause && reserved) underWay.add(id)',
      replace: '{}',
    },
    {
      name: 'pinned-at-first-use',
      what: 'I19: a tool that was called is known as it was then',
      find: "if (definitionHash !== '' && !hashes.has(tool)) hashes.set(tool, definitionHash)",
      replace: '',
    },
  ]),
  ...at('src/sessions/storage/run-pin.ts', [
    {
      name: 'pin-kept-while-needed',
      what: 'C6: what an unfinished run began with stays until it is over',
      find: 'new Set(store.unfinishedRuns().flatMap(({ pin }) => pin?.at ?? []))',
      replace: 'new Set()',
    },
    {
      name: 'pin-freed',
      what: 'C6: what nobody needs any longer is not kept',
      find: 'const { agent: _freed, ...pin } = row.pin',
      replace: 'const pin = row.pin',
    },
  ]),
  ...at('src/sessions/runs/run-execution.ts', [
    {
      name: 'added-texts-kept',
      what: 'I19: what hooks added to the instructions is what it was when the run began',
      find: 'if (isFirst && texts.length > 0 && !isSettled()) keepAdded(texts)',
      replace: '',
    },
  ]),
]
