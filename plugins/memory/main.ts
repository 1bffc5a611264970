import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  tools: {
    async note({ text }, { memory }) {
      const { id } = await memory.append(text)
      return { noted: id }
    },
    async recall({ query, limit = 10 }, { memory }) {
      const isSearch = typeof query === 'string' && query.trim() !== ''
      const notes = isSearch ? await memory.search(query, { limit }) : await memory.read({ limit })
      return { notes: notes.map(({ id, text, atMs }) => ({ id, text, at_ms: atMs })) }
    },
    async clear(_input, { memory }) {
      await memory.clear()
      return { cleared: true }
    },
  },
})

export default register
