import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'

it('M8, G7: passes the official MCP suites as a server, an authorization server and a client', async () => {
  const { error, output } = await new Promise<{ error: Error | null; output: string }>(
    (resolve) => {
      execFile(process.execPath, ['test/mcp-suite/run.mjs'], (failed, stdout, stderr) =>
        resolve({ error: failed, output: `${stderr}\n${stdout}`.trim() }),
      )
    },
  )
  for (const score of [
    '37 of 37 required scenarios of 2026-07-28',
    '2 of 2 scenarios, 3 of 3 checks',
    '32 of 32 required scenarios of 2026-07-28',
    '18 of 18 required scenarios of 2025-11-25',
  ])
    expect(output).toContain(score)
  expect(output).toMatch(/(2[5-9]|30) of 30 required scenarios of 2025-11-25/)
  expect(error, output).toBeNull()
}, 600_000)
