import { ToolError } from '#contracts/plugin.ts'

const maxSqlChars = 50_000

/** Statements by their first word, and the access they need. A statement in neither set does not run. */
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

/** Quoted texts and comments, by how they begin and end. A doubled end mark does not end the text. */
const pieces = [
  { begins: "'", ends: "'" },
  { begins: '"', ends: '"' },
  { begins: '`', ends: '`' },
  { begins: '[', ends: ']' },
  { begins: '--', ends: '\n' },
  { begins: '/*', ends: '*/' },
] as const

/** One statement that a plugin may run. */
export interface SqlStatement {
  /** The first word, in capitals. */
  readonly kind: string
  /** The statement without its final semicolon. */
  readonly text: string
}

/**
 * Checks that a text is one statement of a kind that the access allows.
 *
 * @throws ToolError with the reason, for the model.
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

/** The statement, and the same text with spaces in place of comments and quoted texts. */
function withoutQuoted(sql: unknown): { readonly bare: string; readonly text: string } {
  if (typeof sql !== 'string' || sql.length > maxSqlChars)
    throw refused(`a statement is a text of at most ${maxSqlChars} characters`)
  // SQLite stops at a NUL, so the checked text would not be the text that runs.
  if (sql.includes('\0')) throw refused('it has a NUL character')
  let bare = ''
  let end: number | undefined
  for (let at = 0; at < sql.length;) {
    const piece = pieces.find(({ begins }) => sql.startsWith(begins, at))
    const after = piece ? endOf(sql, at, piece) : at + 1
    const char = sql[at] ?? ''
    // A named parameter may have brackets around any text, in which a quote begins no string.
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
