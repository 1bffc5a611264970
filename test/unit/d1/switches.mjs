// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'audit-lands-once',
    what: 'M5, F15: a batch that arrives twice lands once',
    test: '../record/audit-log.test.ts',
    file: 'src/features/record/store/record-rows.ts',
    find: 'WHERE known < ?5',
    replace: '',
  },
  {
    name: 'events-from-the-beginning',
    what: 'invariant 8: of a log only its beginning is deleted, so that the rest stays provable',
    test: '../record/retention.test.ts',
    file: 'src/features/record/store/retention.ts',
    find: 'AND id < coalesce((SELECT min(id) FROM oldest WHERE to_ms >= ?1), ${newestId})',
    replace: 'AND to_ms < ?1 AND id < ${newestId}',
  },
  {
    name: 'drafts-as-shown',
    what: 'P10: a draft is promoted with the text that was shown, and with no other',
    test: '../skills/skill-drafts.test.ts',
    file: 'src/features/skills/store/skill-drafts.ts',
    find: "WHERE id = ?1 AND state = 'open' AND hash = ?2 RETURNING id",
    replace: "WHERE id = ?1 AND state = 'open' AND ?2 <> '' RETURNING id",
  },
  {
    name: 'schedule-index-version',
    what: 'F11: what is told late changes nothing of the list of all schedules',
    test: '../schedules/schedules.test.ts',
    file: 'src/features/schedules/store/schedules.ts',
    find: '(?4, ?5, ?6, ?7, ?8) WHERE version < ?5',
    replace: '(?4, ?5, ?6, ?7, ?8)',
  },
]
