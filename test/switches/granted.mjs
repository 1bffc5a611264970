// Protections of what only the bundled plugins are given; as in switches.mjs.

const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

/** What the bundled plugins are given besides. */
export const granted = [
  ...of(
    'src/plugins/capabilities/storage/granted-database.ts',
    ['test/unit/plugins/capabilities/storage/granted-database.test.ts'],
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
    'src/plugins/capabilities/storage/sql-statement.ts',
    ['test/unit/plugins/capabilities/storage/granted-database.test.ts'],
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
  ...of(
    'src/plugins/capabilities/granted-isolate.ts',
    ['test/hostile/model-code.workers.test.ts'],
    [
      {
        name: 'model-code-has-one-verb',
        what: 'P32: code that a model wrote asks for tools and nothing else',
        tests: ['test/unit/plugins/capabilities/granted-isolate.test.ts'],
        project: 'unit',
        find: "if (verb !== 'tools.call') return refusal('There is only tools.call.')",
        replace: '',
      },
      {
        name: 'model-code-is-leased',
        what: 'P32: a new isolate is paid out of the lease',
        find: 'if (lease.maxCostNanoUsd < (opened + 1) * newIsolateNanoUsd)',
        replace: 'if (false)',
      },
      {
        name: 'model-code-runs-once',
        what: 'P32: code that has begun is not begun again elsewhere',
        tests: ['test/unit/plugins/capabilities/granted-isolate.test.ts'],
        project: 'unit',
        find: "const isTaken = !hasBegun && ['busy', 'crashed'].includes(answer.error.code)",
        replace: "const isTaken = ['busy', 'crashed'].includes(answer.error.code)",
      },
    ],
    'workers',
  ),
  ...of(
    'src/plugins/capabilities/granted-parts.ts',
    ['test/hostile/model-code.workers.test.ts'],
    [
      {
        name: 'model-code-for-builtin-only',
        what: 'P32: only code that came with the deployment runs code of a model',
        find: "if (!granted.isolate || tier !== 'builtin') return none(refuse('isolate'))",
        replace: 'if (!granted) return none(refuse("isolate"))',
      },
    ],
    'workers',
  ),
  ...of(
    'src/kernel/execute.ts',
    ['test/unit/kernel/inner.test.ts'],
    [
      {
        name: 'own-spending-counts',
        what: 'C5: what a call spent itself is added to what its inner calls spent',
        find: 'addUsage(result.usage ?? zeroUsage, await inner.close())',
        replace: 'await inner.close()',
      },
    ],
  ),
]
