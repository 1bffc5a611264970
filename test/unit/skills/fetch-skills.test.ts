import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readSkillsAnswer } from '#runtime/catalog/types/skill-catalog.ts'
import type { Carrier } from '#contracts/outbound.ts'
import { fetchArchive } from '../../../src/features/plugins/admission/fetch-archive.ts'
import { readSkills } from '../../../src/features/plugins/admission/read-skills.ts'
import { createFetchSkills } from '../../../src/features/skills/admission/fetch-skills.ts'
import { sendOver } from '../../fakes/outbound.ts'
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

describe('T5: an entry of an index of skills', () => {
  const digest = `sha256:${'0'.repeat(64)}`
  const $schema = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

  /** The deployment in development, over a network in which each address answers like this. */
  function fetchOver(answers: Readonly<Record<string, () => Response>>, open: readonly string[]) {
    const asked: string[] = []
    const carry: Carrier = async (url) => {
      asked.push(url)
      return answers[url]?.() ?? new Response(null, { status: 404 })
    }
    const send = sendOver(carry, { isDevelopment: true })
    const fetchSkills = createFetchSkills({
      fetchArchive: (url, hop) => fetchArchive(url, { send, openHosts: async () => open, ...hop }),
      readArchive: async () => [],
    })
    return { asked, fetchSkills }
  }
  const indexOf = (url: string) => () =>
    Response.json({ $schema, skills: [{ name: 'weaving', type: 'archive', url, digest }] })

  it.each([
    'http://127.0.0.1:6379/x',
    'http://localhost:8787/x.zip',
    'http://[::1]:9/x',
    'https://10.0.0.1/x',
    'https://169.254.169.254/x',
    'https://[64:ff9b::7f00:1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'http://127.0.0.1:3000/x',
  ])('of outside that names %s is refused, and nothing there is asked', async (url) => {
    const { asked, fetchSkills } = fetchOver({ [index]: indexOf(url) }, ['127.0.0.1:3000'])
    await expect(fetchSkills(index, [])).rejects.toThrow('not allowed')
    expect(asked).toEqual([index])
  })

  it('is as much of outside where a server of this machine redirects to it', async () => {
    const local = 'http://127.0.0.1:3000/index.json'
    const redirect = () => new Response(null, { status: 302, headers: { location: index } })
    const { asked, fetchSkills } = fetchOver(
      { [local]: redirect, [index]: indexOf('http://127.0.0.1:3000/secret') },
      ['127.0.0.1:3000'],
    )
    await expect(fetchSkills(local, [])).rejects.toThrow('not allowed')
    expect(asked).toEqual([local, index])
  })

  it('of a server of this machine that is open reaches what is open, and no other port', async () => {
    const local = 'http://127.0.0.1:3000/index.json'
    const { asked, fetchSkills } = fetchOver({ [local]: indexOf('http://127.0.0.1:6379/x') }, [
      '127.0.0.1:3000',
    ])
    await expect(fetchSkills(local, [])).rejects.toThrow('isola http allow')
    expect(asked).toEqual([local])
  })

  it('is not looked for at a server of this machine that no operator opened', async () => {
    const { asked, fetchSkills } = fetchOver({}, [])
    await expect(fetchSkills('http://127.0.0.1:6379/', [])).rejects.toThrow('isola http allow')
    expect(asked).toEqual([])
  })
})
