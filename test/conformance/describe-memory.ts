import { describe, expect, it } from 'vitest'
import { call, callJson } from '../fakes/client.ts'

let people = 0
/** Makes a new principal, so that notes of one test are not found by another. */
async function somebody(): Promise<{ readonly headers: Record<string, string> }> {
  people += 1
  const json = { principal: `person-${people}`, role: 'user' }
  const { key } = await callJson('/api/operator/keys', { json })
  return { headers: { authorization: `Bearer ${key}` } }
}
type By = Awaited<ReturnType<typeof somebody>>

const addNote = (by: By, text: string, more: object = {}) =>
  callJson('/api/memory', { ...by, json: { notes: [{ text }], ...more } })
const findNotes = async (by: By, query: string, more = ''): Promise<readonly string[]> => {
  const { notes } = await callJson(`/api/memory?query=${encodeURIComponent(query)}${more}`, by)
  return notes.map(({ text }: { text: string }) => text)
}

/** The contract of a memory provider, built in or a plugin, over the routes. */
export function describeMemory(name: string): void {
  describe(`P17: memory ${name}`, () => {
    it('finds a note by its words, and none of another person', async () => {
      const [ada, ben] = [await somebody(), await somebody()]
      await addNote(ada, 'Ada grows periwinkles')
      expect(await findNotes(ada, 'periwinkles')).toEqual(['Ada grows periwinkles'])
      expect(await findNotes(ada, 'zebra')).toEqual([])
      expect(await findNotes(ben, 'periwinkles')).toEqual([])
    })

    it('keeps scopes apart', async () => {
      const ada = await somebody()
      await addNote(ada, 'Marmalade one')
      await addNote(ada, 'Marmalade two', { scope: 'agent', agent: 'scribe' })
      expect(await findNotes(ada, 'marmalade', '&scope=principal')).toEqual(['Marmalade one'])
      expect(await findNotes(ada, 'marmalade', '&agent=scribe')).toEqual(['Marmalade two'])
      expect(await findNotes(ada, 'marmalade', '&scope=agent')).toEqual(['Marmalade two'])
      expect(await findNotes(ada, 'marmalade', '&scope=deployment')).toEqual([])
    })

    it('merges what says the same, shows, changes and forgets one', async () => {
      const ada = await somebody()
      const { added } = await addNote(ada, 'Ada likes tea')
      expect((await addNote(ada, 'Ada likes tea')).added).toMatchObject([{ state: 'merged' }])
      const path = `/api/memory/${added[0].id}`
      expect(await callJson(path, ada)).toMatchObject({ text: 'Ada likes tea', scope: 'principal' })
      await callJson(path, { ...ada, json: { text: 'Ada likes coffee' } })
      expect(await findNotes(ada, 'coffee')).toHaveLength(1)
      const gone = await call(path, { ...ada, method: 'DELETE' })
      expect(await gone.json()).toEqual({ forgotten: 1 })
      expect(await findNotes(ada, 'coffee')).toEqual([])
      expect((await call(path, { ...ada, method: 'DELETE' })).status).toBe(404)
    })

    it('forgets everything of one person, and of no other', async () => {
      const [ada, ben] = [await somebody(), await somebody()]
      await addNote(ada, 'One')
      await addNote(ben, 'Two')
      const gone = await call('/api/memory', { ...ada, method: 'DELETE' })
      expect(await gone.json()).toEqual({ forgotten: 1 })
      expect((await callJson('/api/memory', ada)).notes).toEqual([])
      expect((await callJson('/api/memory', ben)).notes).toHaveLength(1)
    })

    it('a dry run keeps nothing', async () => {
      const ada = await somebody()
      await addNote(ada, 'One', { dryRun: true })
      expect((await callJson('/api/memory', ada)).notes).toEqual([])
    })
  })
}

const put = (by: By, document: string, text: string, more: object = {}) =>
  callJson('/api/knowledge', { ...by, json: { name: document, text, ...more } })
const findPassages = async (by: By, query: string, more = ''): Promise<readonly string[]> => {
  const path = `/api/knowledge/search?query=${encodeURIComponent(query)}${more}`
  const { passages } = await callJson(path, by)
  return passages.map(({ cite }: { cite: string }) => cite)
}

/** The contract of a knowledge provider, over the routes. */
export function describeKnowledge(name: string): void {
  describe(`P17: knowledge ${name}`, () => {
    it('finds a passage with where it is, and none of another person', async () => {
      const [ada, ben] = [await somebody(), await somebody()]
      const text = '# Tea\n\n## Green\nSteep for three minutes.'
      expect((await put(ada, 'tea.md', text, { type: 'markdown' })).state).toBe('added')
      expect(await findPassages(ada, 'steep')).toEqual(['tea.md, “Tea › Green”, line 4'])
      expect(await findPassages(ada, 'zebra')).toEqual([])
      expect(await findPassages(ben, 'steep')).toEqual([])
      expect((await callJson('/api/knowledge', ben)).documents).toEqual([])
    })

    it('leaves what is the same, and puts what changed in its place', async () => {
      const ada = await somebody()
      const { document } = await put(ada, 'a.txt', 'The office opens at eight')
      expect((await put(ada, 'a.txt', 'The office opens at eight')).state).toBe('same')
      const changed = await put(ada, 'a.txt', 'The shop opens at nine')
      expect(changed).toMatchObject({ state: 'changed', document: { id: document.id } })
      expect(await findPassages(ada, 'office')).toEqual([])
      expect((await callJson('/api/knowledge', ada)).documents).toHaveLength(1)
    })

    it('keeps scopes apart', async () => {
      const ada = await somebody()
      await put(ada, 'a.txt', 'Marmalade one')
      await put(ada, 'b.txt', 'Marmalade two', { scope: 'agent', agent: 'scribe' })
      expect(await findPassages(ada, 'marmalade', '&scope=principal')).toEqual(['a.txt, line 1'])
      expect(await findPassages(ada, 'marmalade', '&agent=scribe')).toEqual(['b.txt, line 1'])
      expect(await findPassages(ada, 'marmalade', '&scope=deployment')).toEqual([])
    })

    it('shows a document with its passages, and removes it with them', async () => {
      const ada = await somebody()
      const { document } = await put(ada, 'a.txt', 'Periwinkles need shade')
      const path = `/api/knowledge/${document.id}`
      const shown = await callJson(path, ada)
      expect(shown).toMatchObject({ document: { name: 'a.txt', passages: 1 } })
      expect(shown.passages).toMatchObject([{ text: 'Periwinkles need shade', part: 1 }])
      const gone = await call(path, { ...ada, method: 'DELETE' })
      expect(await gone.json()).toEqual({ forgotten: 1 })
      expect(await findPassages(ada, 'periwinkles')).toEqual([])
      expect((await call(path, ada)).status).toBe(404)
    })

    it('every principal reads the knowledge of the deployment', async () => {
      const ada = await somebody()
      await callJson('/api/knowledge', {
        json: { name: 'rules.txt', text: 'No quagmires', scope: 'deployment' },
      })
      expect(await findPassages(ada, 'quagmires', '&scope=deployment')).toHaveLength(1)
      const json = { name: 'b.txt', text: 'x', scope: 'deployment' }
      expect((await call('/api/knowledge', { ...ada, json })).status).toBe(403)
      await call('/api/knowledge?scope=deployment', { method: 'DELETE' })
      expect(await findPassages(ada, 'quagmires', '&scope=deployment')).toEqual([])
    })
  })
}
