import { ToolError, type Plugin } from 'isola/plugin'
import { checkPath } from './path-rules.ts'

const register: Plugin = () => ({
  tools: {
    async read({ path, offset = 0, max_chars: maxChars = 16_000 }, { workspace }) {
      const text = await workspace.get(checkPath(path))
      if (typeof text !== 'string')
        throw new ToolError('tool_failed', { message: `There is no file ${path}.` })
      const part = text.slice(offset, offset + maxChars)
      const truncated = offset + part.length < text.length
      return { path, text: part, total_chars: text.length, ...(truncated && { truncated }) }
    },
    async write({ path, text }, { workspace }) {
      await workspace.set(checkPath(path), text)
      return { path, chars: text.length }
    },
    async list({ prefix, limit = 200 }, { workspace }) {
      return { paths: await workspace.list({ limit, ...(prefix !== undefined && { prefix }) }) }
    },
    async delete({ path }, { workspace }) {
      return { deleted: await workspace.delete(checkPath(path)) }
    },
  },
})

export default register
