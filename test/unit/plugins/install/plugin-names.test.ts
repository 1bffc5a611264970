import { describe, expect, it } from 'vitest'
import {
  checkHash,
  compareVersions,
  isDowngrade,
} from '../../../../src/plugins/install/bundle-hash.ts'
import { checkPluginId, lookAlikes } from '../../../../src/plugins/install/plugin-names.ts'
import { systemSources } from '../../../../src/sources.ts'

describe('an id that a plugin may not have', () => {
  it.each(['isola', 'orchestrator', 'operator', 'system', 'isola-tools'])('is ours: %s', (id) => {
    expect(() => checkPluginId(id, [])).toThrow(/reserved for Isola/)
  })

  it('is that of a plugin that ships with the deployment', () => {
    expect(() => checkPluginId('kv', ['kv', 'http'])).toThrow(
      expect.objectContaining({ code: 'plugin_name_collision', param: 'id' }) as Error,
    )
    expect(() => checkPluginId('kv-store', ['kv', 'http'])).not.toThrow()
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

describe('T24: what is stored', () => {
  it('is refused with one flipped byte', () => {
    const text = JSON.stringify({ code: 'export default () => ({})' })
    const hash = systemSources.sha256(text)
    expect(() => checkHash(text, hash, systemSources)).not.toThrow()
    for (let at = 0; at < text.length; at += 1) {
      const flipped =
        text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)
      expect(() => checkHash(flipped, hash, systemSources)).toThrow(/install it again/)
    }
  })

  it('has versions in the order of semver, so that a downgrade is seen', () => {
    const ordered = [
      '0.9.9',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.10',
      '1.2.0',
      '10.0.0',
    ]
    expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered)
    expect(isDowngrade('1.10.0', '1.9.0')).toBe(true)
    expect(isDowngrade('1.0.0', '1.0.0-rc.1')).toBe(true)
    expect(isDowngrade('1.0.0', '1.0.0')).toBe(false)
    expect(isDowngrade('1.0.0', '1.0.1')).toBe(false)
  })
})
