import { ToolError } from 'isola/plugin'

const maxPathChars = 200

/** A workspace path is relative, has no empty, `.` or `..` parts, and is spelled in one way only. */
export function checkPath(path: string): string {
  const problem = problemWith(path)
  if (problem === undefined) return path
  throw new ToolError('tool_failed', {
    message: `The path ${problem}. Use a relative one such as src/main.ts.`,
  })
}

function problemWith(path: string): string | undefined {
  if (path.length === 0 || path.length > maxPathChars)
    return `must have 1 to ${maxPathChars} characters`
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'must be relative'
  if (/[\p{Cc}\\]/u.test(path)) return 'may not have backslashes or control characters'
  const parts = path.split('/')
  if (parts.includes('..')) return 'may not leave the workspace'
  return parts.some((part) => part === '' || part === '.' || part !== part.trim())
    ? 'has an empty part'
    : undefined
}
