// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'deny-wins',
    what: 'P4: what the operator denies is denied, whoever allows it',
    test: 'decide-tool.test.ts',
    file: 'src/features/policy/decide-tool.ts',
    find: "if (rule !== undefined) return denied('denied_by_rule'",
    replace: "if (rule !== undefined && false) return denied('denied_by_rule'",
  },
  {
    name: 'allow-list',
    what: 'P4, C5: what is not in an allow-list is denied',
    test: 'decide-tool.test.ts',
    file: 'src/features/policy/decide-tool.ts',
    find: "return denied('not_in_allow_list', `${where}: allow`)",
    replace: 'continue',
  },
  {
    name: 'destructive-asks',
    what: 'I27: what destroys is not called without asking',
    test: 'decide-tool.test.ts',
    file: 'src/features/policy/decide-tool.ts',
    find: "if (isDestructive && !isListed && destructive !== 'allow' && destructive !== where)",
    replace: "if (destructive === 'none')",
  },
  {
    name: 'other-hosts-ask',
    what: 'P4: a call to a host that nobody opened is not made without asking',
    test: 'decide-tool.test.ts',
    file: 'src/features/policy/decide-tool.ts',
    find: "const where = isElsewhere ? network.elsewhere : 'allow'",
    replace: "const where = isElsewhere && network.hosts.length < 0 ? network.elsewhere : 'allow'",
  },
]
