import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'
import { isNightly } from '../setup/nightly.ts'

it('M8, G7: passes the official MCP suites as a server, an authorization server and a client', async () => {
  // Of what is asked of a client each scenario is two processes: a few of them here, all of them nightly.
  const some = isNightly ? [] : ['--some', '4']
  const args = ['test/mcp-suite/run.mjs', ...some]
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, args, (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  for (const score of [
    '37 of 37 required scenarios of 2026-07-28',
    '3 of 3 scenarios of skills, 42 of 42 checks',
    '3 of 3 scenarios of skills, 40 of 40 checks',
    '2 of 2 scenarios, 3 of 3 checks',
    isNightly
      ? '32 of 32 required scenarios of 2026-07-28'
      : '4 of 4 scenarios, of 32 that are required, of 2026-07-28',
    isNightly
      ? '18 of 18 required scenarios of 2025-11-25'
      : '4 of 4 scenarios, of 18 that are required, of 2025-11-25',
  ])
    expect(output).toContain(score)
  expect(output).toMatch(/(2[5-9]|30) of 30 required scenarios of 2025-11-25/)
  expect(error, output).toBeNull()
})
