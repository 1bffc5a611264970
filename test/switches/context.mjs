// A conversation that outgrows its model: what is sent instead, and who is asked before it is.

const kernel = 'test/unit/kernel/context.test.ts'
const compaction = 'test/unit/context/compaction.test.ts'
const summaryHooks = 'test/unit/plugins/hooks/summary-hooks.test.ts'
const at = (file, tests, entries) =>
  entries.map((entry) => ({ file, tests: [tests], project: 'unit', ...entry }))

export const context = [
  ...at('src/context/context-fitter.ts', summaryHooks, [
    {
      name: 'summary-hooked',
      what: 'P16: hooks are asked before what is to be summed up goes to a model',
      find: 'aroundSummary?.({ ...turn, added }) ?? turn.generate',
      replace: 'turn.generate',
    },
    {
      name: 'summary-pins-nothing',
      what: 'I19: what is added to a summary is not what the run was begun with',
      find: '{ ...turn.added, note: () => {} }',
      replace: 'turn.added',
    },
  ]),
  ...at('src/plugins/hooks/live-hooks.ts', summaryHooks, [
    {
      name: 'switched-off-asks-nothing',
      what: 'P4: an agent that was switched off asks no model',
      find: "if (!isThere(wired, agent)) throw new IsolaError('model_denied', switchedOff)",
      replace: '',
    },
  ]),
  ...at('src/context/context-builder.ts', compaction, [
    {
      name: 'context-rests',
      what: 'C6: after a compaction ten turns go by, unless what came in would not fit',
      find: "if (turns >= restTurns) return 'start'",
      replace: "return 'start'",
    },
    {
      name: 'no-cut-in-calls',
      what: 'I12: nothing is decided while a call is under way',
      find: 'if (input.isDecided || isCallUnderWay(messages)) return asIs',
      replace: 'if (input.isDecided) return asIs',
    },
    {
      name: 'too-large-alone',
      what: 'P29: a message that alone is too large is refused with the limit',
      find: 'if (tokens > sizes.window) throw tooLarge(deps)',
      replace: '',
    },
  ]),
  ...at('src/context/archive.ts', compaction, [
    {
      name: 'archived-whole',
      what: 'P29: what leaves is kept with no message cut in two',
      find: 'last.chars + between + chars <= maxKeptChars',
      replace: 'true',
    },
  ]),
  ...at('src/kernel/plan-turn.ts', kernel, [
    {
      name: 'context-error-compacts',
      what: 'P29: what a model refuses as too long is compacted, and asked once more',
      find: "isTooLong && parts.context ? plan('context_error') : Promise.reject(error)",
      replace: 'Promise.reject(error)',
    },
    {
      name: 'compaction-on-record',
      what: 'I12: what was decided is on record before the model is asked',
      find: '      checkpoint()\n    }\n    return parts',
      replace: '    }\n    return parts',
    },
  ]),
]
