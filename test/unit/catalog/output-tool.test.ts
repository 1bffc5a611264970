import { expect, it } from 'vitest'
import { createOutputStore, createOutputTool } from '../../../src/catalog/output-tool.ts'
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
