// The kernel stays nano (Y30): counts the code of kernel/ with its leases, and of every module that it reaches by
// import, types and schemas aside.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const maxKernelLines = 1800
export const maxKernelFileLines = 300

/** The source without comments; strings and templates are left alone. */
function withoutComments(source) {
  // Alternatives in order: strings and templates are kept, comments are not. A `//` inside a regular
  // expression literal would have to be escaped (`\/\/`), so it cannot be taken for a comment.
  const token =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|\\\/|\/\*[^]*?\*\/|\/\/[^\n]*/g
  return source.replace(token, (text) => {
    if (text.startsWith('//')) return ''
    // A block comment in the middle of a line must not join its neighbours.
    return text.startsWith('/*') ? ' ' : text
  })
}

/** Lines of TypeScript that hold code. */
export const countCodeLines = (source) =>
  withoutComments(source)
    .split('\n')
    .filter((line) => line.trim() !== '').length

/** Top-level statements: the format puts nothing but their beginnings and closing brackets in the first column. */
const statementsOf = (source) => withoutComments(source).split(/^(?=[^\s)}\]])/m)

const typeOnly = /^(?:export )?(?:interface|type|declare|abstract interface)\b|^import type\b/
const isTypeImport = (text) =>
  /^(?:import|export) \{/.test(text) && !/[{,]\s*(?!type\b)[\w$]/.test(text)
const isSchema = (text) => /^(?:export )?const \w+(?:: [^=]+)? = z\b/.test(text)
const saysOnlyShapes = (text) => typeOnly.test(text) || isTypeImport(text) || isSchema(text)

/** The same without what only says a shape: types and zod schemas. */
export const countWorkingLines = (source) =>
  countCodeLines(
    statementsOf(source)
      .filter((text) => !saysOnlyShapes(text))
      .join(''),
  )

/** Our own modules that this source needs when it runs. */
function importsOf(source, path, sourceFolder) {
  const working = statementsOf(source).filter((text) => !typeOnly.test(text) && !isTypeImport(text))
  const named =
    /^(?:import|export)\b[^'"]*\sfrom\s+['"]([^'"]+)|^import\s+['"]([^'"]+)|\bimport\(\s*['"]([^'"]+)/g
  return working
    .flatMap((text) => [...text.matchAll(named)].map(([, ...names]) => names.find(Boolean)))
    .flatMap((name) => {
      if (name.startsWith('#')) return [join(sourceFolder, name.slice(1))]
      return name.startsWith('.') ? [resolve(dirname(path), name)] : []
    })
}

const filesIn = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    : []

/** Size of kernel/ and leases/ in a source folder with all that they reach, and which limits it passes. */
export function measureKernel(sourceFolder) {
  const kernel = join(sourceFolder, 'runtime', 'kernel')
  // Types that the kernel offers to others count where the kernel itself reaches them.
  const own = filesIn(kernel).filter((path) => !path.startsWith(join(kernel, 'types')))
  const counted = new Map()
  const open = [...own]
  while (open.length > 0) {
    const path = open.pop()
    if (counted.has(path)) continue
    const source = readFileSync(path, 'utf8')
    counted.set(path, countWorkingLines(source))
    open.push(...importsOf(source, path, sourceFolder))
  }
  const files = [...counted].map(([path, lines]) => ({
    path: `src/${relative(sourceFolder, path)}`,
    lines,
  }))
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const problems = files
    .filter((file) => file.lines > maxKernelFileLines)
    .map((file) => `${file.path} has ${file.lines} lines of code, more than ${maxKernelFileLines}`)
  if (lines > maxKernelLines)
    problems.push(`kernel and leases come to ${lines} lines of code, more than ${maxKernelLines}`)
  return { lines, files, problems }
}
