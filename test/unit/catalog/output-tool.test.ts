import { expect, it } from 'vitest'
import { createOutputStore, createOutputTool } from '../../../src/runtime/catalog/output-tool.ts'
import { createFakeGateway } from '../../fakes/session-gateway.ts'
import { createToolContext } from '../../fakes/tool-context.ts'

it('T22: a kept result is read by the session it was kept for, and by no other of the tree', async () => {
  const kept = new Map<string, unknown>()
  const sessions = {
    ...createFakeGateway(),
    at: () => ({
      storage: async (request: { verb: string; key: string; value?: unknown }) => {
        if (request.verb === 'set') kept.set(request.key, request.value)
        return { found: kept.has(request.key), value: kept.get(request.key) }
      },
    }),
  } as unknown as ReturnType<typeof createFakeGateway>
  const base = { principal: 'operator', rootSession: 'ses_root', agent: 'a', tool: 't', input: {} }
  const subject = { ...base, session: 'ses_child', run: 'run_1', call: 'call_1' }
  const { handle } = await createOutputStore(sessions).keep(subject, '"long"')
  const read = (session: string) =>
    createOutputTool(sessions).tool.execute(
      { handle: handle ?? '' },
      createToolContext({ session, rootSession: 'ses_root' }),
    )
  expect(await read('ses_child')).toMatchObject({ ok: true, output: { text: '"long"' } })
  expect(await read('ses_root')).toMatchObject({ ok: false })
})

it('no page, start or match of a kept result has half of a character, and none is left out between pages', async () => {
  const smiles = '😀'.repeat(30_000)
  for (const text of [smiles, `x${smiles}`, `${'x😀"'.repeat(9_000)}needle${smiles}`]) {
    const storage = async () => ({ found: true, value: text })
    const sessions = { at: () => ({ storage }) }
    const about = { principal: 'ann', rootSession: 'ses_1', agent: 'a', tool: 't', input: {} }
    const kept = await createOutputStore(sessions).keep(
      { ...about, session: 'ses_1', run: 'run_1', call: 'call_1' },
      text,
    )
    expect(String(kept['head']).isWellFormed()).toBe(true)
    const tool = createOutputTool(sessions).tool
    const context = createToolContext({ session: 'ses_1', rootSession: 'ses_1' })
    const read = async (input: object) => {
      const result = await tool.execute({ handle: 'ses_1.run_1.call_1', ...input }, context)
      if (!result.ok) throw new Error(result.error.message)
      return result.output as {
        text: string
        nextOffset?: number
        matches?: readonly { text: string }[]
      }
    }
    let whole = ''
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: { text: string; nextOffset?: number } = await read({ offset })
      expect(page.text.isWellFormed()).toBe(true)
      whole += page.text
      offset = page.nextOffset
    }
    expect(whole === text).toBe(true)
    // In the middle of one, as a model may ask.
    for (const offset of [1, 2]) expect((await read({ offset })).text.isWellFormed()).toBe(true)
    expect((await read({ offset: text.length + 5 })).text).toBe('')
    for (const query of ['needle', '😀😀'])
      for (const match of (await read({ query })).matches ?? [])
        expect(match.text.isWellFormed()).toBe(true)
  }
})
