// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'isolate-no-network',
    what: 'T5: an isolate has no network, not even the host’s',
    test: 'worker-code.test.ts',
    file: 'src/features/plugins/sandbox/worker-code.ts',
    find: 'globalOutbound: null,',
    replace: '',
  },
  {
    name: 'isolate-shadowed-modules',
    what: 'T5: sockets and other modules of the platform cannot be imported',
    test: 'worker-code.test.ts',
    file: 'src/features/plugins/sandbox/worker-code.ts',
    find: '...Object.fromEntries(shadowed.map((name) => [name, forbidden])),',
    replace: '',
  },
  {
    name: 'isolate-per-tree',
    what: 'T7: community code has an isolate per session tree',
    test: 'isolate-id.test.ts',
    file: 'src/features/plugins/sandbox/isolate-id.ts',
    find: "tier === 'community' ? rootSession : '',",
    replace: '',
  },
  {
    name: 'stubs-die-with-the-call',
    what: 'T10: what a call was given is dead after it',
    test: 'call-gate.test.ts',
    file: 'src/features/plugins/sandbox/call-gate.ts',
    find: 'state.isOpen = false',
    replace: '',
  },
]
