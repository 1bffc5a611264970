import * as z from 'zod'
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server'
import { fieldsOf } from '#features/mcp-servers/types.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import { noSuchSession, unwrap } from '#contracts/reply.ts'
import type { RunView } from '#runtime/session/types/session-view.ts'
import type { SessionTask, Submitted } from '#runtime/session/types/session-entry.ts'
import { isRunId, isSessionId } from '#platform/routes/headers.ts'
import { orchestrator } from '#platform/routes/targets.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { isAsking, newSession, runCall, told, type McpRequest } from './mcp-call.ts'
import type { OfferedTool } from './offered.ts'
import { outcomeOf, toFailure, toRunResult, toToolResult } from './outcome.ts'

const agentRequest = z.strictObject({
  task: z.string().min(1),
  session: z.string().optional(),
  background: z.boolean().optional(),
})
const runRequest = z.strictObject({ session: z.string(), run: z.string() })

type Answer = CallToolResult | InputRequiredResult

/** Calls what a name stands for. Throws what was refused before anything began. */
export async function callOffered(
  call: McpRequest,
  { kind, target }: OfferedTool,
  input: JsonObject,
): Promise<Answer> {
  switch (kind) {
    case 'agent':
      return callAgent(call, target, input)
    case 'tool':
      return callTool(call, target, input)
    case 'run_status':
    case 'run_cancel':
      return askRun(call, kind, input)
  }
}

async function callAgent(call: McpRequest, agent: string, input: JsonObject): Promise<Answer> {
  const { task, session: named, background } = parseFields(agentRequest, fieldsOf(input))
  if (named !== undefined && !isSessionId(named)) throw noSuchSession()
  const answer = await runCall(call, async () => ({
    isBackground: background === true,
    work: submit(call, {
      session: named ?? (await newSession(call)),
      agent,
      messages: [{ role: 'user', text: task, taint: ['user'], label: await saidBy(call) }],
      ...(named !== undefined && { mustExist: true }),
      // A caller who named a session, or asks for the outcome later, can raise a limit; a call that the client awaits
      // ends with what it has.
      ...((named !== undefined || background === true) && { mayRaise: true }),
    }),
  }))
  return isAsking(answer) ? answer : toRunResult(await told(call, answer))
}

const saidBy = ({ deps, caller }: McpRequest): Promise<Label> => deps.toldClients.said(caller.asker)

async function callTool(call: McpRequest, tool: string, input: JsonObject): Promise<Answer> {
  const answer = await runDirect(call, tool, input)
  return isAsking(answer) ? answer : toDirectResult(answer)
}

/**
 * A tool without a model: a run of one call, in a session of its own that no later call names, so that every gate,
 * the lease and the record are those of any other call (docs/design.md invariant 4).
 */
async function runDirect(call: McpRequest, tool: string, input: JsonObject) {
  const answer = await runCall(call, async () => ({
    work: submit(call, {
      session: await newSession(call),
      agent: orchestrator,
      isStateless: true,
      messages: [
        { role: 'user', text: `Call ${tool}.`, taint: ['user'], label: await saidBy(call) },
      ],
      directCall: { tool, input },
    }),
  }))
  return isAsking(answer) ? answer : told(call, answer)
}

const submit = ({ deps, caller }: McpRequest, ask: SessionTask): Submitted =>
  deps.entry.submitAs(caller.asker, { ...caller.asks, ...ask }, { origin: 'mcp' })

/** The output of a tool alone; or its questions. Throws its failure. */
export async function outputOf(
  call: McpRequest,
  tool: string,
  input: JsonObject,
): Promise<{ readonly output: Json } | InputRequiredResult> {
  const view = await runDirect(call, tool, input)
  if (isAsking(view)) return view
  const outcome = outcomeOf(view)
  if (outcome?.ok) return { output: outcome.output }
  const said = outcome ?? view.result?.error ?? openError(view)
  throw Object.assign(new Error(said.message), { code: said.code })
}

const openError = ({ state }: RunView) => ({
  code: 'tool_pending',
  message: state === 'parked' ? 'It waits for someone to approve it.' : 'It takes too long.',
})

/** Of a run of one call: the tool's output, or its failure. */
function toDirectResult(view: RunView): CallToolResult {
  const outcome = outcomeOf(view)
  if (!outcome) return toRunResult(view)
  if (!outcome.ok) return toFailure(outcome.code, outcome.message)
  return toToolResult(outcome.output)
}

async function askRun(
  call: McpRequest,
  kind: 'run_status' | 'run_cancel',
  input: JsonObject,
): Promise<CallToolResult> {
  const { session, run } = parseFields(runRequest, fieldsOf(input))
  if (!isSessionId(session) || !isRunId(run)) throw noSuchSession()
  const { principal } = call.caller
  const api = call.deps.sessions.at(session)
  const reply =
    kind === 'run_cancel'
      ? await api.cancel(principal, run, 'Cancelled by the caller.')
      : await api.result(principal, run)
  return toDirectResult(await told(call, unwrap(reply)))
}
