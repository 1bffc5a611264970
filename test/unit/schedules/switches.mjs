// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'chain-comes-back-never',
    what: 'Y28: a subscription is once in a chain of events',
    test: 'chain.test.ts',
    file: 'src/schedules/chain.ts',
    find: 'if (via.includes(id))',
    replace: "if (via.includes(''))",
  },
  {
    name: 'chain-depth',
    what: 'Y28: a chain of events ends at its depth',
    test: 'chain.test.ts',
    file: 'src/schedules/chain.ts',
    find: 'if (chain.depth > chain.maxDepth)',
    replace: 'if (chain.depth < 0)',
  },
  {
    name: 'event-sight',
    what: 'N12: nobody hears of the sessions of others who may not see them',
    test: 'chain.test.ts',
    file: 'src/schedules/chain.ts',
    find: "if (isPublic || principal === asker.principal) return 'yes'",
    replace: "if (isPublic || principal !== '') return 'yes'",
  },
  {
    name: 'heard-label',
    what: 'T11: what somebody else emitted is a stranger’s for whoever hears it',
    test: 'chain.test.ts',
    file: 'src/schedules/chain.ts',
    find: "principal === hears ? 'data' : 'stranger'",
    replace: "principal === hears ? 'data' : 'data'",
  },
]
