// Protections of what only the bundled plugins are given; as in switches.mjs.

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

/** What the bundled plugins are given besides. */
export const granted = [
  ...of(
    'src/plugins/granted-database.ts',
    ['test/unit/plugins/granted-database.test.ts'],
    [
      {
        name: 'own-database-out-of-reach',
        what: "G3: the deployment's own database is none for plugins",
        find: 'return !isOwn && isDatabase(binding)',
        replace: 'return isDatabase(binding)',
      },
      {
        name: 'reading-is-a-subquery',
        what: 'G3: a statement that may only read runs where nothing can write',
        find: 'const one = isWrapped ? `SELECT * FROM (${text}\\n) LIMIT ${maxRows + 1}` : text',
        replace: 'const one = text',
      },
      {
        name: 'reading-tool-reads',
        what: 'G3: a tool that says it only reads gets nothing that writes',
        tests: ['test/conformance/sql.test.ts'],
        find: "if (database?.access !== 'write' || annotations.readOnlyHint !== true) return granted",
        replace: 'if (database === undefined || annotations) return granted',
      },
    ],
  ),
  ...of(
    'src/plugins/sql-statement.ts',
    ['test/unit/plugins/granted-database.test.ts'],
    [
      {
        name: 'one-sql-statement',
        what: 'G3: one SQL statement a call',
        find: "if (end !== undefined && !isBlank) throw refused('one statement at a time')",
        replace: 'if (end !== undefined) break',
      },
      {
        name: 'sql-quotes-as-sqlite',
        what: 'G3: no parameter in which SQLite reads quotes otherwise',
        find: 'if (!piece && /[$@#:]/.test(char))',
        replace: 'if (false)',
      },
    ],
  ),
]
