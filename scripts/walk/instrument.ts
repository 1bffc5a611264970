// Makes each function of a source text say that it was entered. Nothing else changes, and no line moves.
import { parseSync, Visitor } from 'oxc-parser'
import type { ArrowFunctionExpression, Function as AnyFunction } from 'oxc-parser'

interface Edit {
  readonly at: number
  readonly text: string
}

/** Calls scripts/walk/recorder.mjs. An isolate has none: its functions say so on the console of the server. */
const call = (id: number) => `(globalThis.__walk ??= (id) => console.warn('@@walk ' + id))(${id})`

/**
 * @param options.path Of the file, for its syntax (`.ts` or `.js`).
 * @param options.firstId The number of its first function.
 * @returns The new text, and how many functions it has.
 */
export function instrument(
  text: string,
  { path, firstId = 0 }: { readonly path: string; readonly firstId?: number },
): { readonly text: string; readonly count: number } {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const edits: Edit[] = []
  let count = 0
  const enter = ({ body }: Pick<AnyFunction | ArrowFunctionExpression, 'body'>) => {
    // An overload or a declaration.
    if (!body) return
    const entry = call(firstId + count)
    count += 1
    if (body.type === 'BlockStatement') edits.push({ at: body.start + 1, text: `${entry};` })
    else edits.push({ at: body.start, text: `(${entry}, ` }, { at: body.end, text: ')' })
  }
  new Visitor({
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
  }).visit(program)
  return { text: applyEdits(text, edits), count }
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let done = 0
  for (const { at, text: inserted } of edits.toSorted((one, other) => one.at - other.at)) {
    parts.push(text.slice(done, at), inserted)
    done = at
  }
  return [...parts, text.slice(done)].join('')
}
