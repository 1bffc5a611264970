import { headOf } from '#contracts/cut.ts'
import { isAlias, isMap, isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { IsolaError } from '#contracts/errors.ts'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'

/** More than any manifest needs. The expanded document is at most this many times the size of the text. */
const maxAliases = 50
const maxDepth = 64

/**
 * Reads a `plugin.yaml`: YAML 1.2 core, one document, plain values. Throws `plugin_manifest_invalid` with line and
 * column (docs/security.md T26: size before parse, no bombs, no duplicate keys, no custom tags).
 */
export function readYaml(text: string, source = 'plugin.yaml'): unknown {
  if (text.length > bundleCaps.maxManifestChars)
    throw invalid(source, `is longer than ${bundleCaps.maxManifestChars} characters`)
  checkNesting(text, source)
  const lines = new LineCounter()
  const fault = (offset: number | undefined, message: string): IsolaError => {
    const { line, col } = offset === undefined ? {} : lines.linePos(offset)
    return invalid(line ? `${source}:${line}:${col}` : source, message)
  }
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    schema: 'core',
    version: '1.2',
    merge: false,
    resolveKnownTags: false,
    uniqueKeys: true,
    stringKeys: true,
    // At a quieter level a second document would pass.
    logLevel: 'error',
  })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw fault(problem.pos[0], problem.message)
  if (document.directives.yaml.explicit || Object.keys(document.directives.tags).length > 1)
    throw fault(0, 'has directives (%YAML, %TAG); leave them out')
  checkNodes(document, fault)
  try {
    return document.toJS({ maxAliasCount: maxAliases })
  } catch (error) {
    // Too many aliases of aliases.
    throw fault(undefined, error instanceof Error ? error.message : 'cannot be read')
  }
}

function invalid(place: string, message: string): IsolaError {
  const line = headOf(
    message.replace(/\s+/g, (run) => (/[\r\n]/.test(run) ? ' ' : run)),
    500,
  )
  return new IsolaError('plugin_manifest_invalid', `${place}: ${line}`)
}

/** The parser recurses with each level, so brackets and indentation are counted before it runs. */
function checkNesting(text: string, source: string): void {
  let depth = 0
  for (const [index, line] of text.split('\n').entries()) {
    const dashes = /^\s*(?:[-?:]\s+)*/.exec(line)?.[0] ?? ''
    const steps = dashes.replaceAll(/\s/g, '').length
    for (const character of line)
      depth = Math.max(0, depth + (/[[{]/.test(character) ? 1 : /[\]}]/.test(character) ? -1 : 0))
    if (steps > maxDepth || depth > maxDepth || dashes.length > maxDepth * 8)
      throw invalid(`${source}:${index + 1}`, `is nested deeper than ${maxDepth} levels`)
  }
}

function checkNodes(
  document: Document.Parsed,
  fault: (offset: number | undefined, message: string) => IsolaError,
): void {
  let aliases = 0
  visit(document, {
    Node(_key, node, path) {
      const offset = node.range?.[0]
      if (path.length > 3 * maxDepth)
        throw fault(offset, `is nested deeper than ${maxDepth} levels`)
      if (isAlias(node)) {
        aliases += 1
        if (aliases > maxAliases) throw fault(offset, `has more than ${maxAliases} aliases`)
        const target = node.resolve(document)
        if (!target) throw fault(offset, `has an alias of nothing (*${headOf(node.source, 60)})`)
        if (path.includes(target)) throw fault(offset, 'has an alias that contains itself')
        return
      }
      if (node.tag !== undefined && !node.tag.startsWith('tag:yaml.org,2002:'))
        throw fault(offset, `has a tag of its own (${headOf(node.tag, 60)}); write a plain value`)
      if (isMap(node)) {
        for (const { key } of node.items) {
          if (!isScalar(key) || typeof key.value !== 'string')
            throw fault(offset, 'has a key that is not a text')
          if (key.value === '__proto__')
            throw fault(key.range?.[0], 'a key may not be named __proto__')
        }
      }
    },
  })
}
