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

/** The first of each, then the second of each: how well they fit cannot be compared. */
const inTurns = <A, B>(one: readonly A[], other: readonly B[]): readonly (A | B)[] =>
  Array.from({ length: Math.max(one.length, other.length) }, (_none, at) => [
    ...one.slice(at, at + 1),
    ...other.slice(at, at + 1),
  ]).flat()

const register: Plugin = () => ({
  tools: {
    async note({ text, ...of }, { memory }) {
      const { id } = await memory.append(text, of)
      return { noted: id }
    },
    async recall({ query, scope, limit = 10, ...of }, { memory }) {
      const wanted = typeof query === 'string' && query.trim() !== '' ? query : undefined
      // A stream is of this conversation.
      const reach = scope ?? (of.stream === undefined ? 'all' : 'session')
      const scopes = reach === 'all' ? {} : { scopes: [reach] }
      const remembered =
        reach === 'session' ? [] : (await memory.recall(wanted, { ...scopes, limit })).map(toOutput)
      if (reach !== 'session' && reach !== 'all') return { notes: remembered }
      const noted =
        wanted === undefined
          ? await memory.read({ limit, ...of })
          : await memory.search(wanted, { limit, ...of })
      const notes = noted.map(({ id, text, atMs }) => ({ id, text, at_ms: atMs }))
      return { notes: inTurns(remembered, notes).slice(0, limit) }
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
