import { describe, expect, it } from 'vitest'
import { labelFrom, saidLabel, type Label } from '#contracts/label.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { Capabilities } from '#features/plugins/types/plugin.ts'
import type { StorageRequest } from '#contracts/space.ts'
import { toToolEntries } from '../../../../src/features/plugins/tools/tool-entries.ts'
import {
  bundle,
  createCapabilityDeps,
  createTestHooks,
  loadOne,
  type FakeDeps,
} from '../../../fakes/plugins.ts'
import { createToolContext } from '../../../fakes/tool-context.ts'

const worst = { integrity: 'stranger', confidentiality: 'private' }
const network = { grants: { network: [{ host: 'api.example', methods: ['GET'] }] } }

/** Code that keeps in a global what it was told, and says it later: in a tool, or in a hook. */
function keeper(tier: TrustTier, more: object = {}, deps: FakeDeps = {}) {
  let kept = 'nothing'
  const contributes = {
    tools: [
      { name: 'learn', description: 'Learns.', input_schema: { type: 'object' } },
      { name: 'say', description: 'Says.', input_schema: { type: 'object' } },
    ],
    hooks: [
      { on: 'beforeModelCall', match: '*' },
      { on: 'beforeToolCall', match: '*' },
    ],
  }
  const learn = async (_input: unknown, { fetch }: Capabilities) => {
    kept = await (await fetch('https://api.example/page')).text()
  }
  const plugin = {
    ...loadOne(
      bundle({ id: 'demo', contributes, ...more }, () => ({
        tools: { learn, say: async () => kept },
        hooks: {
          beforeModelCall: async () => ({}),
          beforeToolCall: async (_event, { storage }) => {
            await storage.set('kept', kept)
            return { input: { kept } }
          },
        },
      })),
    ),
    tier,
  }
  const all = createCapabilityDeps({ fetch: async () => new Response('STRANGE'), ...deps })
  const entries = new Map(toToolEntries(plugin, all).map((entry) => [entry.tool.name, entry]))
  const call = (name: string) => entries.get(`demo__${name}`)!.tool.execute({}, createToolContext())
  return { call, entries, hooks: createTestHooks([plugin], { capabilities: all }) }
}

describe('T11: code that keeps what it read in a global', () => {
  it('labels each answer by what its grants can have read, for every caller and at any time', async () => {
    const { call, entries } = keeper('community', network)
    await call('learn')
    const said = await call('say')
    const page = labelFrom('demo__say', { confidentiality: 'public' })
    expect(said).toMatchObject({ ok: true, output: 'STRANGE', label: page })
    expect(entries.get('demo__say')!.yields).toEqual(page)
  })

  it('is the worst where other conversations have told it things: vouched for, or with what a principal keeps', async () => {
    expect((await keeper('trusted').call('say')).label).toMatchObject(worst)
    const stored = { grants: { storage: { quota: '1mb', scope: 'principal' } } }
    expect((await keeper('community', stored).call('say')).label).toMatchObject(worst)
  })

  it('is a tool’s of its input where it has no grants, and where it ships with the deployment', async () => {
    const made = { integrity: 'tool', confidentiality: 'public', sources: [] }
    expect((await keeper('community').call('say')).label).toEqual(made)
    expect((await keeper('builtin', network).call('say')).label).toEqual(made)
  })

  it('says and keeps it so in a hook, too', async () => {
    const kept: (Label | undefined)[] = []
    const storage = async (request: StorageRequest) => {
      if (request.verb === 'set') kept.push(request.label)
      return { found: true }
    }
    const sessions = { at: () => ({ storage }) } as unknown as FakeDeps['sessions']
    const grants = { ...network.grants, storage: '1mb' }
    const { hooks } = keeper('community', { grants }, sessions ? { sessions } : {})
    const subject = { ...createToolContext({ label: saidLabel }), tool: 'demo__go', input: {} }
    const verdict = await hooks.tools.before(subject)
    expect(verdict).toMatchObject({ veto: false, label: { integrity: 'stranger' } })
    expect(kept).toMatchObject([{ integrity: 'stranger', confidentiality: 'said' }])
  })
})
