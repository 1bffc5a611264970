import { WorkerEntrypoint } from 'cloudflare:workers'
import { transform } from 'sucrase'
import { parse } from 'sucrase/dist/esm/parser/index.js'
import { TokenType } from 'sucrase/dist/esm/parser/tokenizer/types.js'

/**
 * Takes the types out of one module and tells what it still imports. It reads code and runs none of it; it has an
 * isolate of its own since its parser can take forever on a text made for that (SECURITY.md T26).
 */
export default class Stripper extends WorkerEntrypoint {
  async run(source: string, path: string): Promise<string> {
    try {
      const isTyped = /\.m?ts$/.test(path)
      const code = isTyped
        ? transform(source, { transforms: ['typescript'], disableESTransforms: true }).code
        : source
      return JSON.stringify({ code, imports: importsOf(code) })
    } catch (error) {
      const message = error instanceof Error ? error.message : 'it cannot be read'
      return JSON.stringify({ error: message.slice(0, 500) })
    }
  }
}

/** Names of modules after `from`, `import` and `import(`; `?` for one that is computed. */
function importsOf(code: string): readonly string[] {
  const { tokens } = parse(code, false, false, false)
  const names: string[] = []
  const textAt = (index: number): string | undefined => {
    const token = tokens[index]
    return token?.type === TokenType.string ? code.slice(token.start + 1, token.end - 1) : undefined
  }
  for (const [index, token] of tokens.entries()) {
    const isFrom = token.type === TokenType.name && code.slice(token.start, token.end) === 'from'
    if (token.type === TokenType._import) {
      const next = tokens[index + 1]?.type
      if (next === TokenType.parenL) names.push(textAt(index + 2) ?? '?')
      else if (next === TokenType.string) names.push(textAt(index + 1) ?? '?')
    } else if (isFrom) {
      const name = textAt(index + 1)
      if (name !== undefined) names.push(name)
    }
  }
  return [...new Set(names)]
}
