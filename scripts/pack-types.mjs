// The types of some modules of src/ and of all that they name, so that they resolve outside of this repository.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { root, toolNode, tools } from './toolchain.mjs'

const specifiers = /(\bfrom\s+|\bimport\()(['"])([^'"]+)\2/g

/** Where a specifier of ours leads, as a file of `base`; undefined for a package. */
function targetOf(specifier, path, base) {
  if (specifier.startsWith('#')) return join(base, specifier.slice(1))
  return specifier.startsWith('.') ? resolve(dirname(path), specifier) : undefined
}

const declarationOf = (path) => path.replace(/\.ts$/, '.d.ts')

/**
 * A declaration of routes without what their handlers need: a client has the types of requests and replies, and none of
 * the server's own parts.
 */
function withoutDeps(text) {
  const bare = text
    .replace(/\},\s*(?:[A-Z]\w*(?: & [A-Z]\w*)*|unknown)>/g, '}, never>')
    .replace(
      /^(?:export )?(?:declare )?(?:interface \w+Deps\b[^{]*\{[\s\S]*?^\}|type \w+Deps = .*;)\n/gm,
      '',
    )
    .replace(/^export declare function \w+\([^\n]*Deps\b[^\n]*;\n/gm, '')
  const rest = bare.replace(/^import .*$/gm, '')
  const isUsed = (name) => new RegExp(`\\b${name}\\b`).test(rest)
  return bare.replace(/^import (?:type )?\{([^}]*)\} from .*\n/gm, (line, names) =>
    names.split(',').some((name) => isUsed(name.trim().split(/\s/).at(-1))) ? line : '',
  )
}

/**
 * Writes declarations. Handlers of routes name types of the Worker's platform, which are not here: the compiler reports
 * them, and writes all the same. Faults of our own types are found by the checks before.
 */
function emit(config) {
  try {
    execFileSync(toolNode(), [tools.tsc, '-p', config], { stdio: 'ignore' })
  } catch (error) {
    if (typeof error.status !== 'number') throw error
  }
}

/** Writes each `<folder>/<entry>` as a declaration, with exactly those that they reach by import. */
export function writeTypes({ entries, folder }) {
  const all = `${folder}-all`
  const config = join(root, 'packed', 'types.json')
  mkdirSync(folder, { recursive: true })
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, 'src'),
    outDir: all,
    types: ['node'],
  }
  const include = entries.map((entry) => join(root, 'src', entry))
  writeFileSync(config, JSON.stringify({ extends: '../tsconfig.json', include, compilerOptions }))
  try {
    emit(config)
    const reached = new Set(entries.map((entry) => join(all, declarationOf(entry))))
    for (const path of reached) {
      const written = readFileSync(path, 'utf8')
      const own = /(^|[-/\\])routes\.d\.ts$/.test(path) ? withoutDeps(written) : written
      const text = own.replace(specifiers, (whole, before, quote, name) => {
        const target = targetOf(name, path, all)
        if (!target) return whole
        reached.add(declarationOf(target))
        const to = relative(dirname(path), target).replace(/\.ts$/, '.js')
        return `${before}${quote}${to.startsWith('.') ? to : `./${to}`}${quote}`
      })
      const copy = join(folder, relative(all, path))
      mkdirSync(dirname(copy), { recursive: true })
      writeFileSync(copy, text)
    }
  } finally {
    rmSync(all, { recursive: true, force: true })
    rmSync(config, { force: true })
  }
}
