// The files that figures are of: which there are, and what a parser reads in them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { parseSync, type ParseResult } from 'oxc-parser'

/** All that tokens are counted of. */
export const countedFolders = ['src', 'cli', 'scripts']
export const allFolders = [...countedFolders, 'plugins', 'bench', 'test', 'console']

const isGenerated = (path: string) => /\.gen[./]/.test(path)
export const isOfCommand = (path: string): boolean => path.startsWith('cli/')
const linesOf = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

/** Paths from `base` of the files of code below some folders, generated ones left out. */
export function codeFiles(base: string, folders: readonly string[]): readonly string[] {
  return folders
    .filter((folder) => existsSync(join(base, folder)))
    .flatMap((folder) =>
      readdirSync(join(base, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && /\.(?:m?ts|mjs|tsx)$/.test(entry.name))
        .map((entry) => relative(base, join(entry.parentPath, entry.name)).split(sep).join('/')),
    )
    .filter((path) => !isGenerated(path) && !path.includes('/node_modules/'))
    .toSorted((one, other) => (one < other ? -1 : 1))
}

/** A file of code, parsed: `module` lists its imports and exports. */
export interface Source extends Pick<ParseResult, 'program' | 'comments' | 'module'> {
  /** From the root. */
  readonly path: string
  readonly text: string
  readonly lines: number
}

export function readSource(base: string, path: string): Source {
  return parseSource(path, readFileSync(join(base, path), 'utf8'))
}

export function parseSource(path: string, text: string): Source {
  const { program, comments, module } = parseSync(path, text)
  return { path, text, lines: linesOf(text), program, comments, module }
}
