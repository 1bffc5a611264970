import { ToolError } from '#contracts/plugin.ts'

const maxSqlChars = 50_000

/** Kinds of statement by the first word, and what each may do. What is in neither does not run. */
const readers: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'EXPLAIN'])
const writers: ReadonlySet<string> = new Set([
  'INSERT',
  'UPDATE',
  'DELETE',
  'REPLACE',
  'CREATE',
  'ALTER',
  'DROP',
])

/** Texts that SQLite reads as one piece, each by how it begins and where it ends. A doubled end goes on. */
const pieces = [
  { begins: "'", ends: "'" },
  { begins: '"', ends: '"' },
  { begins: '`', ends: '`' },
  { begins: '[', ends: ']' },
  { begins: '--', ends: '\n' },
  { begins: '/*', ends: '*/' },
] as const

/** One statement that may be run for a plugin. */
export interface SqlStatement {
  /** The first word, in capitals. */
  readonly kind: string
  /** Without the semicolon that may end it. */
  readonly text: string
}

/**
 * Checks that a text is one statement of a kind that the access allows.
 *
 * @throws ToolError that says what is wrong, for the model.
 */
export function parseStatement(sql: unknown, access: 'read' | 'write'): SqlStatement {
  const { bare, text } = withoutQuoted(sql)
  const kind = /^\s*([a-z]+)/i.exec(bare)?.[1]?.toUpperCase() ?? ''
  if (readers.has(kind) || (access === 'write' && writers.has(kind))) return { kind, text }
  if (writers.has(kind))
    throw refused(`${kind} writes, and this may only read: SELECT, WITH, VALUES or EXPLAIN`)
  throw refused(
    `${kind || 'this'} is no statement that runs here: ${[...readers].join(', ')}${access === 'write' ? `, ${[...writers].join(', ')}` : ''}`,
  )
}

/** The statement, and the same with spaces in place of comments and of everything in quotes. */
function withoutQuoted(sql: unknown): { readonly bare: string; readonly text: string } {
  if (typeof sql !== 'string' || sql.length > maxSqlChars)
    throw refused(`a statement is a text of at most ${maxSqlChars} characters`)
  // SQLite stops at a NUL: what comes after it would not be what was checked.
  if (sql.includes('\0')) throw refused('it has a NUL character')
  let bare = ''
  let end: number | undefined
  for (let at = 0; at < sql.length;) {
    const piece = pieces.find(({ begins }) => sql.startsWith(begins, at))
    const after = piece ? endOf(sql, at, piece) : at + 1
    const char = sql[at] ?? ''
    // Named parameters may have brackets with anything inside, where a quote begins no string.
    if (!piece && /[$@#:]/.test(char)) throw refused(`parameters are ?, not ${char}name`)
    const isBlank = piece ? isComment(piece) : /[\s;]/.test(char)
    if (end !== undefined && !isBlank) throw refused('one statement at a time')
    if (!piece && char === ';') end ??= at
    bare += piece ? ' '.repeat(after - at) : char
    at = after
  }
  return { bare, text: sql.slice(0, end) }
}

const isComment = ({ begins }: (typeof pieces)[number]): boolean =>
  begins === '--' || begins === '/*'

function endOf(sql: string, start: number, { begins, ends }: (typeof pieces)[number]): number {
  for (let at = start + begins.length; ;) {
    const found = sql.indexOf(ends, at)
    if (found === -1) {
      if (begins === '--') return sql.length
      throw refused(`it has a ${begins} that does not end`)
    }
    const after = found + ends.length
    const isDoubled = begins === ends && sql.startsWith(ends, after)
    if (!isDoubled) return after
    at = after + ends.length
  }
}

function refused(why: string): ToolError {
  return new ToolError('tool_failed', { message: `The SQL was not run: ${why}.` })
}
