// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'admission-principal',
    what: 'T2: a session takes nothing from another principal, and looks absent',
    test: 'sessions.test.ts',
    file: 'src/runtime/session/runs/admission.ts',
    find: 'if (existing && existing.principal !== rest.principal) throw noSuchSession()',
    replace: '',
  },
  {
    name: 'decided-once',
    what: 'E6: a call is decided once; another decision is refused',
    test: 'sessions.test.ts',
    file: 'src/runtime/session/waiting/outside.ts',
    find: 'throw decidedAlready(before, { who: row.deciders?.[call], isSame: before === digest })',
    replace: 'return false',
  },
  {
    name: 'decision-shows-arguments',
    what: 'T21: a decision about other arguments than those shown is refused',
    test: 'sessions.test.ts',
    file: 'src/runtime/session/waiting/pauses.ts',
    find: 'if (decision.argsHash !== undefined && decision.argsHash !== argsHash) {',
    replace: 'if (false) {',
  },
]
