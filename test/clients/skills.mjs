// Skills that we serve, with the programs that people use: the Inspector reads and verifies them at /mcp, `npx skills`
// lists and installs them from /.well-known/agent-skills.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain.mjs'

const names = ['code-review', 'plugin-authoring']
const files = ['code-review/SKILL.md', 'plugin-authoring/SKILL.md']
files.push('plugin-authoring/references/refused.md')

/** @param bin The path of an installed program. */
export async function checkSkills({ server, check, runProgram, bin }) {
  const authorization = `Bearer ${server.key}`
  const set = await fetch(`${server.url}/api/operator/exposed`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ exposed: { public_skills: names } }),
  })
  if (!set.ok) throw new Error(await set.text())
  const expectAll = (said, all) => {
    for (const one of all) if (!said.includes(one)) throw new Error(`no ${one} in: ${said}`)
  }
  for (const era of ['legacy', 'auto', 'modern'])
    for (const method of [['skills/list'], ['skills/get', '--uri', 'skill://code-review/SKILL.md']])
      await check(`Inspector, ${era}, ${method[0]} --verify`, async () => {
        const to = ['--cli', `${server.url}/mcp`, '--transport', 'http', '--protocol-era', era]
        const what = ['--method', ...method, '--verify', '--require-digests', '--format', 'json']
        const header = ['--header', `Authorization: ${authorization}`, '-q']
        const args = [bin('mcp-inspector'), ...to, ...what, ...header]
        const said = await runProgram(args, { server })
        const reports = said
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
        const isWhole = reports.length === (method.length === 1 ? names.length : 1)
        if (!isWhole || reports.some(({ outcome }) => outcome !== 'verified')) throw new Error(said)
      })
  const home = mkdtempSync(join(tmpdir(), 'isola-skills-'))
  const env = { HOME: home, DISABLE_TELEMETRY: '1', DO_NOT_TRACK: '1' }
  const run = (...args) =>
    runProgram([bin('skills'), 'add', server.url, ...args], { server, env, cwd: home })
  try {
    await check('npx skills, --list', async () => expectAll(await run('--list'), names))
    await check('npx skills, installs to the byte', async () => {
      await run('--skill', '*', '--agent', 'claude-code', '--copy', '-y')
      for (const path of files) {
        const [installed, ours] = [
          join(home, '.claude', 'skills', path),
          join(root, 'skills', path),
        ]
        if (!readFileSync(installed).equals(readFileSync(ours))) throw new Error(`${path} differs`)
      }
    })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
