import { describe, expect, it } from 'vitest'
import { lookAlikes, checkPluginId } from '../../../../src/runtime/catalog/lifecycle/names.ts'

describe('an id that a plugin may not have', () => {
  it.each(['isola', 'orchestrator', 'operator', 'system', 'isola-tools'])('is ours: %s', (id) => {
    expect(() => checkPluginId(id, new Set())).toThrow(/reserved for Isola/)
  })

  it('is that of a plugin that ships with the deployment', () => {
    expect(() => checkPluginId('kv', new Set(['kv', 'http']))).toThrow(
      expect.objectContaining({ code: 'plugin_name_collision', param: 'id' }) as Error,
    )
    expect(() => checkPluginId('kv-store', new Set(['kv', 'http']))).not.toThrow()
  })
})

describe('P27: an id that looks like another is pointed out', () => {
  it.each([
    ['git-hub-tools', 'github-tools'],
    ['githubtools', 'github-tools'],
    ['github-tool', 'github-tools'],
    ['githubb-tools', 'github-tools'],
    ['gihtub-tools', 'github-tools'],
    ['githud-tools', 'github-tools'],
    ['g1thub-tools', 'github-tools'],
    ['tools-github', 'github-tools'],
    ['github', 'github-tools'],
    ['github-tools-pro', 'github-tools'],
    ['web-searches', 'web-search'],
    ['rnemory', 'memory'],
    ['memory-2', 'memory'],
    ['memory-plugin', 'memory'],
    ['stripe-api', 'stripe-apy'],
  ])('%s, %s', (id, other) => {
    expect(lookAlikes(id, ['kv', other])).toEqual([
      expect.stringContaining(`"${id}" looks like "${other}"`),
    ])
  })

  it.each([
    ['weather', ['kv', 'http', 'files', 'memory', 'code-reviewer']],
    ['html', ['http']],
    ['csv', ['kv']],
    ['jira-tools', ['github-tools']],
    ['web-fetch', ['web-search']],
    ['github-tools', ['github-tools']],
  ])('but %s does not look like %s', (id, known) => {
    expect(lookAlikes(id, known)).toEqual([])
  })
})
