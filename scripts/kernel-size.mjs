// The kernel stays nano (Y30): counts its lines without comments and blank lines.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export const maxKernelLines = 1500
export const maxKernelFileLines = 300

/** Lines of TypeScript that hold code: comments are cut, with strings and templates left alone. */
export function countCodeLines(source) {
  // Alternatives in order: strings and templates are kept, comments are not. A `//` inside a regular
  // expression literal would have to be escaped (`\/\/`), so it cannot be taken for a comment.
  const token =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|\\\/|\/\*[^]*?\*\/|\/\/[^\n]*/g
  const code = source.replace(token, (text) => {
    if (text.startsWith('//')) return ''
    // A block comment in the middle of a line must not join its neighbours.
    return text.startsWith('/*') ? ' ' : text
  })
  return code.split('\n').filter((line) => line.trim() !== '').length
}

/** Size of the TypeScript files under a folder, and which limits it passes. */
export function measureKernel(folder) {
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .map((path) => ({
          path: relative(folder, path),
          lines: countCodeLines(readFileSync(path, 'utf8')),
        }))
    : []
  const lines = files.reduce((sum, file) => sum + file.lines, 0)
  const problems = files
    .filter((file) => file.lines > maxKernelFileLines)
    .map(
      (file) =>
        `src/kernel/${file.path} has ${file.lines} lines of code, more than ${maxKernelFileLines}`,
    )
  if (lines > maxKernelLines)
    problems.push(`src/kernel has ${lines} lines of code, more than ${maxKernelLines}`)
  return { lines, files, problems }
}
