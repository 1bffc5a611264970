import { expect, it } from 'vitest'
import { createBundledSkills } from '../../../src/features/skills/installed-skills.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { skillSource } from '../../fakes/skills.ts'

const skills = [skillSource('tidy', 'Tidies.')]
const text = JSON.stringify({ skills })
const asset = { path: '/skills.json', sha256: sha256(text) }

it('reads the skills that ship once', async () => {
  const asked: string[] = []
  const readAsset = async (path: string) => {
    asked.push(path)
    return new Response(text)
  }
  const read = createBundledSkills({ readAsset, asset, sha256 })
  expect(await read()).toEqual(skills)
  expect(await read()).toBe(await read())
  expect(asked).toEqual(['/skills.json'])
})

it.each([
  ['another text than was built', () => new Response(`${text} `)],
  ['no text', () => new Response('', { status: 404 })],
])('does not read %s, and tries again the next time', async (_what, wrong) => {
  const answers = [wrong(), new Response(text)]
  const read = createBundledSkills({ readAsset: async () => answers.shift()!, asset, sha256 })
  await expect(read()).rejects.toMatchObject({ code: 'request_unavailable' })
  expect(await read()).toEqual(skills)
})

it('has none where the deployment has no assets', async () => {
  expect(await createBundledSkills({ readAsset: undefined, asset, sha256 })()).toEqual([])
})
