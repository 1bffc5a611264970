// The exported types of source files: the names that several files share, and the names declared twice.
import { Visitor } from 'oxc-parser'
import { roomOf } from '../walk/rooms.ts'
import type { Source } from './sources.ts'

const utilities = new Set(['Pick', 'Omit', 'Parameters', 'ReturnType'])

/** How often a source says `any`, and takes another type apart. */
export function countTypes({ program }: Pick<Source, 'program'>): {
  readonly any: number
  readonly utilities: number
} {
  const found = { any: 0, utilities: 0 }
  const take = (name: string) => {
    if (utilities.has(name)) found.utilities += 1
  }
  new Visitor({
    TSAnyKeyword: () => {
      found.any += 1
    },
    TSTypeReference: ({ typeName }) => {
      if (typeName.type === 'Identifier') take(typeName.name)
    },
    TSInterfaceHeritage: ({ expression }) => {
      if (expression.type === 'Identifier') take(expression.name)
    },
  }).visit(program)
  return found
}

/** Names of the types that a source declares and exports. */
export const declaredTypes = ({ program }: Pick<Source, 'program'>): readonly string[] =>
  program.body.flatMap((node) => {
    const declared = node.type === 'ExportNamedDeclaration' ? node.declaration : undefined
    switch (declared?.type) {
      case 'TSInterfaceDeclaration':
      case 'TSTypeAliasDeclaration':
      case 'TSEnumDeclaration':
      case 'ClassDeclaration':
        return declared.id ? [declared.id.name] : []
      default:
        return []
    }
  })

/** Exported types of one name in several files: `{ name, paths }`. */
export function declaredTwice(
  sources: readonly Pick<Source, 'path' | 'program'>[],
): readonly { readonly name: string; readonly paths: readonly string[] }[] {
  const places = new Map<string, readonly string[]>()
  for (const source of sources)
    for (const name of declaredTypes(source))
      places.set(name, [...(places.get(name) ?? []), source.path])
  return [...places]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => ({ name, paths }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** The path from src/ that a file of src/ imports by a specifier; undefined for a package. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1)
  if (!specifier.startsWith('.')) return undefined
  return new URL(specifier, `file:///${path}`).pathname.slice('/src/'.length)
}

/** `{ target, names }` of each import and re-export; `*` is all of them. */
function importsOf({ path, module }: Source) {
  const imported = module.staticImports.map(({ moduleRequest, entries }) => ({
    specifier: moduleRequest.value,
    names: entries.map(({ importName }) => importName.name ?? '*'),
  }))
  const exported = module.staticExports
    .flatMap(({ entries }) => entries)
    .flatMap(({ moduleRequest, importName }) =>
      moduleRequest ? [{ specifier: moduleRequest.value, names: [importName.name ?? '*'] }] : [],
    )
  return [...imported, ...exported].flatMap(({ specifier, names }) => {
    const target = targetOf(path, specifier)
    return target === undefined ? [] : [{ target, names }]
  })
}

/** Wiring and entries use the whole vocabulary: they are no rooms that share it. */
const isWiring = (room: string) => ['src', 'compose', 'embedded'].includes(room)

/**
 * The names that contracts/ exports, each with the rooms that import it. Contracts among themselves, wiring, tests and
 * scripts do not count.
 *
 * @param sources All of src/.
 */
export function sharedNames(
  sources: readonly Source[],
): readonly { readonly file: string; readonly name: string; readonly rooms: readonly string[] }[] {
  const isContract = (path: string) => path.startsWith('contracts/')
  const users = new Map<string, Set<string>>()
  for (const source of sources) {
    const room = roomOf(source.path.slice('src/'.length))
    if (isWiring(room) || room === 'contracts') continue
    for (const { target, names } of importsOf(source)) {
      if (!isContract(target)) continue
      for (const name of names) {
        const key = `${target} ${name}`
        users.set(key, (users.get(key) ?? new Set()).add(room))
      }
    }
  }
  return sources
    .filter(({ path }) => isContract(path.slice('src/'.length)))
    .flatMap(({ path, module }) => {
      const file = path.slice('src/'.length)
      return module.staticExports
        .flatMap(({ entries }) => entries)
        .flatMap(({ exportName: { name } }) => (name ? [{ file, name }] : []))
    })
    .map(({ file, name }) => ({
      file,
      name,
      rooms: [...(users.get(`${file} ${name}`) ?? users.get(`${file} *`) ?? [])].toSorted(),
    }))
}
