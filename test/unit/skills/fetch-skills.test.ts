import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readSkillsAnswer } from '#contracts/api/requests/skills.ts'
import { readSkills } from '../../../src/plugins/admission/read-skills.ts'
import { createFetchSkills } from '../../../src/skills/admission/fetch-skills.ts'
import { bytesOf, zipOf } from '../../fakes/zip.ts'

const site = 'https://skills.example'
const index = `${site}/.well-known/agent-skills/index.json`
const unnamed = '---\ndescription: Weaves.\n---\nThe way.\n'
const named = `---\nname: weaving${unnamed.slice(3)}`

/** A site with these files, whose archives are read as in the isolate: what it answers is JSON. */
function fetchFrom(files: Readonly<Record<string, Uint8Array>>) {
  return createFetchSkills({
    fetchArchive: (url) => Promise.resolve(files[url] ?? new Uint8Array()),
    readArchive: (bytes, only) => {
      const answer: unknown = JSON.parse(JSON.stringify({ skills: readSkills(bytes, only) }))
      return Promise.resolve(readSkillsAnswer.parse(answer).skills)
    },
  })
}

describe('skills from an address', () => {
  it.each([
    ['a SKILL.md', bytesOf(named), undefined],
    ['a zip with SKILL.md at its top', zipOf({ 'SKILL.md': named }), undefined],
    ['a zip of one folder', zipOf({ 'weaving/SKILL.md': unnamed }), 'weaving'],
  ])(
    'X2: are read of %s, under the name of the folder where there is one',
    async (_what, bytes, folder) => {
      const { sent } = await fetchFrom({ [`${site}/one.zip`]: bytes })(`${site}/one.zip`, [])
      expect(sent.map((one) => one.folder)).toEqual([folder])
      expect(sent[0]?.bundle?.fields).toMatchObject({ description: 'Weaves.' })
    },
  )

  it('X2: have the name that an index gives them, whatever folder their archive is packed in', async () => {
    const bytes = zipOf({ 'pack-main/SKILL.md': unnamed })
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const skills = [{ name: 'weaving', type: 'archive', description: 'x', url: '/w.zip', digest }]
    const $schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
    const files = {
      [index]: bytesOf(JSON.stringify({ $schema, skills })),
      [`${site}/w.zip`]: bytes,
    }
    const { sent, refused } = await fetchFrom(files)(site, [])
    expect([sent.map((one) => one.folder), refused]).toEqual([['weaving'], []])
  })
})
