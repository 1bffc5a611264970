import type { Plugin, PluginNote } from 'isola/plugin'

const toOutput = ({ id, text, scope, kind, speaker, caption, date, ...about }: PluginNote) => ({
  id,
  text,
  scope,
  kind,
  ...(speaker !== undefined && { speaker }),
  ...(caption !== undefined && { caption }),
  ...(date !== undefined && { date }),
  at_ms: about.createdAtMs,
  ...(about.differsFrom && { differs_from: about.differsFrom }),
})

const register: Plugin = () => ({
  tools: {
    async note({ text, ...of }, { memory }) {
      const { id } = await memory.append(text, of)
      return { noted: id }
    },
    async recall({ query, scope = 'session', limit = 10, ...of }, { memory }) {
      const isSearch = typeof query === 'string' && query.trim() !== ''
      if (scope !== 'session') {
        const scopes = scope === 'all' ? {} : { scopes: [scope] }
        const found = await memory.recall(isSearch ? query : undefined, { ...scopes, limit })
        return { notes: found.map(toOutput) }
      }
      const notes = isSearch
        ? await memory.search(query, { limit, ...of })
        : await memory.read({ limit, ...of })
      return { notes: notes.map(({ id, text, atMs }) => ({ id, text, at_ms: atMs })) }
    },
    async clear(of, { memory }) {
      await memory.clear(of)
      return { cleared: true }
    },
    async remember({ fact: text, ...about }, { memory }) {
      const { id, state, differsFrom } = await memory.remember({ text, ...about })
      return { remembered: id, state, ...(differsFrom && { differs_from: differsFrom }) }
    },
    async forget({ ids }, { memory }) {
      return { forgotten: await memory.forget(ids) }
    },
  },
})

export default register
