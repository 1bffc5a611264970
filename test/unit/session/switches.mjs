// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'persona-is-labelled',
    what: "T11: a run that speaks as a stranger's persona has read what a stranger wrote",
    test: 'personas.test.ts',
    file: 'src/runtime/session/runs/run-ports.ts',
    find: '  persona?.label ?? ownLabel,',
    replace: '  ownLabel,',
  },
]
