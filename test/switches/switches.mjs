// Every protection that a test of its own holds up, and what the code reads like without it. `node
// test/switches/run.mjs` takes them away one at a time: a protection that nobody misses is none.

import { askingSwitches } from './asking.mjs'
import { context } from './context.mjs'
import { granted } from './granted.mjs'
import { oauth } from './oauth.mjs'
import { mcp } from './mcp.mjs'
import { outcomes } from './outcomes.mjs'
import { pinned } from './pinned.mjs'

const kernelRun = 'test/unit/kernel/run.test.ts'
const kernelGates = 'test/unit/kernel/gates.test.ts'
const kernelLabels = 'test/unit/kernel/labels.test.ts'
const kernelPauses = 'test/unit/kernel/pauses.test.ts'
const kernelLedger = 'test/unit/kernel/ledger.test.ts'
const subAgents = 'test/unit/agents/sub-agent-tool.test.ts'
const gateway = 'test/unit/sessions/gateway.test.ts'
const egress = 'test/unit/plugins/egress.test.ts'
const holes = 'test/unit/outbound/holes.test.ts'
const provider = 'test/unit/models/openai-provider.test.ts'
const dayLedger = 'test/unit/governance/day-ledger.test.ts'
const parkedDay = 'test/unit/switched/parked-day.test.ts'
const principalLedger = 'test/unit/governance/principal-ledger.test.ts'
const auditLog = 'test/unit/storage/audit-log.test.ts'
const kernelInner = 'test/unit/kernel/inner.test.ts'
const callTools = 'test/unit/plugins/call-tools.test.ts'
const switchedKernel = 'test/unit/switched/kernel.test.ts'
const switchedSessions = 'test/unit/switched/sessions.test.ts'
const switchedHub = 'test/unit/switched/stream-hub.test.ts'
const switchedModels = 'test/unit/switched/models.test.ts'
const switchedSurfaces = 'test/unit/switched/surfaces.test.ts'
const switchedNames = 'test/unit/switched/names.test.ts'
const objects = 'test/workers/switched.workers.test.ts'
const outside = 'test/workers/outside.workers.test.ts'
const outages = 'test/workers/outages.workers.test.ts'
const regressions = 'test/workers/regressions.workers.test.ts'
const operatorSessions = 'test/workers/operator-sessions.workers.test.ts'
const sessionObject = 'test/workers/session.workers.test.ts'

/** Those of one file, all held up by the same tests unless one says otherwise. */
const of = (file, tests, entries, project = 'unit') =>
  entries.map((entry) => ({ file, tests, project, ...entry }))

const act = of(
  'src/kernel/act.ts',
  [kernelRun],
  [
    {
      name: 'intent-before-effect',
      what: 'F5: the intent is in the journal before an effect that may not be repeated',
      find: 'ports.checkpoint()\n    await ports.sync()',
      replace: 'await ports.sync()',
    },
    {
      name: 'sync-before-effect',
      what: 'F5: that intent is durable before the effect',
      find: 'await ports.sync()',
      replace: '',
    },
    {
      name: 'intent-of-spending-calls',
      what: 'E1: a call that may spend has its intent and its share on record before it begins',
      tests: [switchedKernel],
      find: '(!record.isRepeatable || spendsOf(record, scope)),',
      replace: '!record.isRepeatable,',
    },
    {
      name: 'cut-call-unknown',
      what: 'F5: a cut call that may not be repeated is not run again; its outcome is unknown',
      find: 'const wasCut = isResumed && !pause && isOpen && !record.isRepeatable',
      replace: 'const wasCut = false',
    },
    {
      name: 'finished-calls-kept',
      what: 'I3: a call that has its outcome is not made again when the run is resumed',
      find: 'hasEnded: !isOpen || !!record.outcome',
      replace: 'hasEnded: false',
    },
    {
      name: 'checkpoint-of-slow-turns',
      what: 'I3: a turn that takes long is written as it stands, so that a crash repeats nothing finished',
      find: 'if (!isWritten || draft.events.length > written) checkpoint()',
      replace: '',
    },
    {
      name: 'intent-without-pause',
      what: 'E6: an approved call is on record without its pause before it begins: spent by the attempt',
      tests: [kernelPauses],
      find: 'function begun({ pause: _over, ...call }: CallRecord, scope',
      replace: 'function begun(call: CallRecord, scope',
    },
    {
      name: 'held-while-waiting',
      what: 'E1: what a waiting call may spend stays reserved until it is answered',
      tests: [kernelPauses],
      find: 'if (reservation.ok) return { lease: reservation.lease, hasRun: true }',
      replace: 'return {}',
    },
    {
      name: 'one-call-once',
      what: 'I14: a call that an executor passes twice runs once',
      find: 'const running = underWay.get(step.callId) ?? pass(step)',
      replace: 'const running = pass(step)',
    },
  ],
)

const gatesFile = of(
  'src/kernel/gates.ts',
  [kernelGates],
  [
    {
      name: 'input-validation',
      what: 'I18: no tool sees arguments that do not fit its schema',
      find: 'if (verdict.ok) return',
      replace: 'return',
    },
    {
      name: 'policy',
      what: 'I18: a call that the policy denies is not made',
      find: 'const verdict = await scope.parts.policy.decide(subjectOf(call, scope))',
      replace:
        'await scope.parts.policy.decide(subjectOf(call, scope))\n    const verdict = { allow: true }',
    },
    {
      name: 'rate-limit',
      what: 'I18: a call over its rate is not made',
      find: 'const verdict = await rates.take(subjectOf(call, scope), clock.nowMs())',
      replace: 'const verdict = { allow: true }',
    },
    {
      name: 'hook-veto',
      what: 'I18: a hook can veto a call',
      find: "if (verdict.veto) return { deny: { ...failure('tool_denied', verdict.message), label } }",
      replace: '',
    },
    {
      name: 'approval-asks',
      what: 'E6: a call that needs an approval waits for it',
      tests: [kernelPauses],
      find: 'if (needed === false) return',
      replace: 'return',
    },
    {
      name: 'approval-bound-to-definition',
      what: 'T14: an approval holds for the tool as it was when it was given',
      tests: [switchedKernel],
      find: 'answer.definitionHash === call.entry!.definitionHash',
      replace: 'true',
    },
    {
      name: 'approval-bound-to-arguments',
      what: 'E6, T21: an approval holds for exactly the arguments it was given for',
      tests: [kernelPauses],
      find: 'answer.argsHash === argsHashOf(call.input, scope) &&',
      replace: '',
    },
    {
      name: 'refuse-approval',
      what: 'E6: where nobody can be asked, a call that needs an approval is denied',
      find: "return pauseOrDeny({ kind: 'approval', expires: true, ...about }, scope)",
      replace: "return { pause: { kind: 'approval', expires: true, ...about } }",
    },
    {
      name: 'depth-cap',
      what: 'Y13: no call goes deeper than the tree may',
      find: `if (limits.maxDepth < 0) return 'lease_depth'`,
      replace: '',
    },
    {
      name: 'no-time-no-call',
      what: 'N6: no tool gets more time than the run has left',
      find: 'if (left > 0) return',
      replace: 'return',
    },
    {
      name: 'output-cap',
      what: 'E3: a result too long for the context is kept behind a handle',
      find: 'if (json.length <= outputs.maxChars) return',
      replace: 'return',
    },
    {
      name: 'result-held-back',
      what: 'I18: a result that no hook could look at does not reach the model',
      tests: [switchedKernel],
      find: 'await scope.parts.hooks.after(subjectOf(call, scope), call.result!)',
      replace:
        'await scope.parts.hooks.after(subjectOf(call, scope), call.result!).catch(() => call.result!)',
    },
    {
      name: 'calls-settled',
      what: 'E1: what a call did not use goes back to its run',
      find: 'if (!call.lease) return\n    if (ledger.settle(',
      replace: 'return\n    if (ledger.settle(',
    },
  ],
)

const executeFile = of(
  'src/kernel/execute.ts',
  [kernelGates],
  [
    {
      name: 'stable-idempotency-key',
      what: 'F5, F31: every attempt of a call sends the same key',
      tests: [switchedKernel],
      find: 'idempotencyKey: `${scope.caller.run}:${call.id}`',
      replace: 'idempotencyKey: crypto.randomUUID()',
    },
    {
      name: 'refuse-pause',
      what: 'N12: where nobody can answer, a tool that waits fails and says so',
      tests: [kernelPauses],
      find: '? pauseOrDeny(result.pause, scope)',
      replace: '? { pause: result.pause }',
    },
    {
      name: 'tool-timeout',
      what: 'N6, F24: a tool that does not answer in time is ended',
      find: 'deadlines.after(ms, timeUp)',
      replace: 'deadlines.after(1e12, timeUp)',
    },
    {
      name: 'tool-told-to-stop',
      what: 'N6: a tool that is out of time hears of it',
      find: `stop.abort(Object.assign(new Error('tool_timeout'), { code }))`,
      replace: '',
    },
    {
      name: 'cancel-reaches-tools',
      what: 'E8: a cancel fires the signal of every tool that runs',
      tests: [switchedKernel],
      find: 'stop.abort(ended.reason)',
      replace: '',
    },
  ],
)

const kernel = [
  ...act,
  ...gatesFile,
  ...executeFile,
  ...of(
    'src/kernel/pipeline.ts',
    [kernelGates],
    [
      {
        name: 'guards-fail-closed',
        what: 'I18: a gate that breaks says no',
        find: "return { deny: gate.broken ?? failure('tool_failed', text) }",
        replace: 'return undefined',
      },
      {
        name: 'changed-input-rechecked',
        what: 'I18: what a hook changed passes schema and policy again',
        find: `index = order.findIndex(({ name }) => name === 'input') - 1`,
        replace: '',
      },
    ],
  ),
  ...of(
    'src/leases/attempts.ts',
    [switchedKernel],
    [
      {
        name: 'model-call-reserved',
        what: 'E1: a model call is reserved before it is made',
        tests: [kernelRun],
        find: 'const reservation = ledger.reserve(aim.estimate)',
        replace: 'const reservation = ledger.reserve({})',
      },
      {
        name: 'lost-attempt-charged',
        what: 'F12: a request that may have been billed is charged in full',
        tests: [kernelRun],
        find: 'const spent = isBilled ? aim.estimate : { tokens: 0, costNanoUsd: 0 }',
        replace: 'const spent = { tokens: 0, costNanoUsd: 0 }',
      },
      {
        name: 'mid-stream-charged',
        what: 'F12, F13: a reply that broke off is charged, whatever its code says',
        find: 'const isBilled = isSent && (hasBegun || !isRefusal(error))',
        replace: 'const isBilled = isSent && !isRefusal(error)',
      },
      {
        name: 'hostile-bill-booked',
        what: 'T19: a bill that is no number is booked with the whole reservation',
        tests: ['test/faults/upstream-faults.test.ts'],
        filter: 'T19',
        find: 'const usage = billable(reply.usage, estimate)',
        replace: 'const usage = reply.usage',
      },
      {
        name: 'lost-call-charged-in-kernel',
        what: 'E1: model calls that a crash may have cut are charged when the run is resumed',
        tests: [switchedKernel],
        find: 'ledger.charge(aim.estimate)\n',
        replace: '\n',
      },
    ],
  ),
  ...of(
    'src/leases/generate.ts',
    [switchedKernel],
    [
      {
        name: 'retry-reserved',
        what: 'F12: a further attempt is not made if the lease refuses it',
        find: 'const isAllowed = attempts.reserve(aim) === undefined',
        replace: 'attempts.reserve(aim)\n          const isAllowed = true',
      },
    ],
  ),
  ...of(
    'src/kernel/run.ts',
    [kernelRun],
    [
      {
        name: 'lost-call-charged',
        what: 'E1: a resumed run knows of the model calls that a crash may have cut',
        find: 'let lostCalls = cut?.steps.length ? 0 : input.lostCalls - lostIn(draft)',
        replace: 'let lostCalls = 0',
      },
      {
        name: 'finished-run-kept',
        what: 'I3: a run that is over gives its result and does nothing more',
        find: 'if (last?.final) {',
        replace: 'if (false) {',
      },
      {
        name: 'message-heard',
        what: 'N12: a run does not end before it has heard what was said to it',
        tests: [kernelPauses],
        find: "if (reflection.decision === 'finish' && hasHeardAll())",
        replace: "if (reflection.decision === 'finish')",
      },
      {
        name: 'refusal-stops-run',
        what: 'N6: a run to which a lease was refused stops after the turn',
        find: 'if (acted?.refused) {',
        replace: 'if (false) {',
      },
    ],
  ),
  ...of(
    'src/kernel/plan-turn.ts',
    [kernelRun],
    [
      {
        name: 'share-pinned',
        what: 'E1: a call that is taken up again reserves what it had, whatever was spent meanwhile',
        tests: [switchedKernel],
        find: 'share: draft.share\n',
        replace: 'share: false\n',
      },
      {
        name: 'turn-cap',
        what: 'Y13: a run has no more turns than it may',
        find: 'if (!lease.ok) {',
        replace: 'if (false) {',
      },
      {
        name: 'ancestry-passed-on',
        what: 'C8: a child knows all agents above it',
        tests: [switchedKernel],
        find: 'ancestry: [...input.ancestry, agent],',
        replace: 'ancestry: [agent],',
      },
      {
        name: 'context-label',
        what: 'T11: what was said in a run is part of its label',
        tests: [kernelLabels],
        find: 'joinLabels([input.label, contextLabel(said)])',
        replace: 'joinLabels([input.label])',
      },
    ],
  ),
  ...of(
    'src/leases/share.ts',
    [kernelLedger],
    [
      {
        name: 'share-divided',
        what: 'E1: the calls of a turn together get no more than there is',
        find: 'Math.floor(amount / calls))\n  const ofLimit',
        replace: 'amount)\n  const ofLimit',
      },
      {
        name: 'final-call-kept',
        what: 'E1: one model call is kept back, so that the caller can still answer',
        find: 'maxTokens: each(left.tokens - finalCall.tokens)',
        replace: 'maxTokens: each(left.tokens)',
      },
      {
        name: 'width-cap',
        what: 'N6: every child counts against the width of the tree',
        tests: [switchedKernel],
        find: 'children: widthOf(entry) + limits.maxChildren,',
        replace: 'children: 0,',
      },
      {
        name: 'depth-counts-down',
        what: 'Y13: each level may go one less deep',
        find: 'maxDepth: limits.maxDepth - 1',
        replace: 'maxDepth: limits.maxDepth',
      },
    ],
  ),
  ...of(
    'src/leases/ledger.ts',
    [kernelLedger],
    [
      {
        name: 'ledger-refuses',
        what: 'E1: what does not fit the lease is refused',
        find: ' || asked > left)',
        replace: ')',
      },
      {
        name: 'ledger-hostile-amounts',
        what: 'T19: negative, fractional and endless amounts are refused',
        find: '!Number.isSafeInteger(asked) || asked < 0 || ',
        replace: '',
      },
      {
        name: 'unused-returned',
        what: 'E1: settling gives back what was not spent',
        find: 'settled = plus(settled, spent)',
        replace: 'settled = plus(settled, spent.tokens > amount.tokens ? spent : amount)',
      },
      {
        name: 'overrun-booked',
        what: 'E1: what was spent beyond the reservation is booked, and nothing more is given',
        find: 'settled = plus(settled, spent)',
        replace: 'settled = plus(settled, spent.tokens > amount.tokens ? amount : spent)',
      },
      {
        name: 'settled-once',
        what: 'E1: a lease is settled once',
        find: 'if (!amount) return false',
        replace:
          'if (!amount) return (settled = plus(settled, { ...zeroAmount, ...partial })) === undefined',
      },
    ],
  ),
  ...of(
    'src/kernel/call.ts',
    [kernelGates],
    [
      {
        name: 'fee-booked',
        what: 'E1: what a call cost besides is booked, and the rest of its fee given back',
        find: 'costNanoUsd: usage?.costNanoUsd ?? 0 }',
        replace: 'costNanoUsd: 0 }',
      },
      {
        name: 'silent-child-charged',
        what: 'E1, I10: a child that does not say what it spent, or works in the background, is booked with its whole lease',
        find: 'if (!usage) return reserved ?? { toolCalls: 1 }',
        replace: 'if (!usage) return { toolCalls: 1 }',
      },
    ],
  ),
  ...of(
    'src/kernel/segment.ts',
    [kernelRun],
    [
      {
        name: 'time-lease',
        what: 'Y13: a run ends when its active time is used up',
        find: `stop.abort(new IsolaError('lease_time', 'The time of this run is used up.'))`,
        replace: '',
      },
      {
        name: 'spent-before-counted',
        what: 'E1: a resumed run has no more than what it left',
        tests: [switchedKernel],
        find: 'const ledger = createLedger(limits, before)',
        replace: 'const ledger = createLedger(limits)',
      },
    ],
  ),
  ...of(
    'src/kernel/check-plan.ts',
    [switchedKernel],
    [
      {
        name: 'stable-call-ids',
        what: 'F5: a call has an id of its own in its run',
        find: 'callId: `call_${turn}_${index}_${hash}`',
        replace: 'callId: `call_${turn}_${hash}`',
      },
    ],
  ),
]

const inner = [
  ...of(
    'src/kernel/inner.ts',
    [kernelInner],
    [
      {
        name: 'inner-lease',
        what: 'E1: what code calls is paid out of the lease of its own call',
        find: 'const ledger = createLedger(limits)',
        replace: 'const ledger = createLedger({ ...limits, maxToolCalls: 1e9, maxTokens: 1e9 })',
      },
      {
        name: 'inner-booked',
        what: 'E1: what the tools spend that code calls is booked for its call',
        find: 'usage = addUsage(usage, spentUsage(state))',
        replace: '',
      },
      {
        name: 'inner-model-booked',
        what: 'E1: what the models cost that code asks is booked for its call',
        find: 'usage = addUsage(usage, spent))',
        replace: 'spent)',
      },
      {
        name: 'inner-model-grant',
        what: 'E1: code spends no more on models than it was granted',
        find: 'narrower(limits, inner!.model)',
        replace: 'limits',
      },
      {
        name: 'inner-flood',
        what: 'T8: code that goes on asking fills no log',
        find: 'if (count > limits.maxToolCalls + 1) return tooMany',
        replace: '',
      },
      {
        name: 'inner-side-by-side',
        what: 'E1: code runs no more calls side by side than its lease allows',
        find: 'createSlots(limits.maxConcurrency)',
        replace: 'createSlots(1_000)',
      },
      {
        name: 'inner-cannot-wait',
        what: 'a call that code makes cannot wait for somebody outside',
        find: "options: { ...scope.caller.options, pauses: 'refuse' },",
        replace: 'options: scope.caller.options,',
      },
      {
        name: 'inner-ancestry',
        what: 'C8: what code calls knows whose code it was',
        find: 'ancestry: [...scope.caller.ancestry, tool.name],',
        replace: '',
      },
      {
        name: 'inner-share',
        what: 'E1: calls that are asked for together share alike',
        find: '[...underWay].filter((one) => !one.lease && !one.result).length',
        replace: '1',
      },
      {
        name: 'inner-model-over',
        what: 'T8: no model is asked once the call is over',
        find: 'within.throwIfAborted()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/leases/generate.ts',
    [kernelInner],
    [
      {
        name: 'model-may-be-used',
        what: 'Y11: a model that was not granted is not asked',
        find: 'if (!mayUse(aim.selection))',
        replace: 'if (false)',
      },
      {
        name: 'model-may-take-over',
        what: 'Y11: a model that was not granted takes nothing over',
        find: 'if (next && !mayUse(next.selection)) return false',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/leases/ledger.ts',
    [kernelLedger],
    [
      {
        name: 'ledger-within',
        what: 'E1: a ledger within another gives no more than that one has',
        find: 'mine.ok ? above.reserve(amount) : mine',
        replace: 'mine',
      },
    ],
  ),
  ...of(
    'src/kernel/act.ts',
    [kernelInner],
    [
      {
        name: 'cut-lease-booked',
        what: 'F5, E1: a cut call that may spend is booked with its whole lease',
        find: 'record.reserved ?? { toolCalls: 1 }',
        replace: '{ toolCalls: 1 }',
      },
    ],
  ),
  ...of(
    'src/kernel/gates.ts',
    [kernelInner],
    [
      {
        name: 'tool-ancestry-ban',
        what: 'C8: no tool is called from below itself',
        find: 'if (caller.ancestry.includes(name)) {',
        replace: 'if (false) {',
      },
    ],
  ),
  ...of(
    'src/plugins/call-tools.ts',
    [callTools],
    [
      {
        name: 'uses-tools-refused',
        what: 'Y15, T8: a tool that is not in uses_tools is refused, on the record',
        find: 'if (!inner?.reaches(tool)) {',
        replace: 'if (!inner) {',
      },
    ],
  ),
  ...of(
    'src/plugins/tool-entries.ts',
    [callTools],
    [
      {
        name: 'spending-not-repeated',
        what: 'F5: a call that may call others or spend is not repeated, whatever it says of itself',
        find: 'const mayRepeat = isConfirmed && !spending.inner',
        replace: 'const mayRepeat = isConfirmed',
      },
    ],
  ),
  ...of(
    'src/plugins/ask-model.ts',
    [callTools],
    [
      {
        name: 'granted-models',
        what: 'a model that is not among the granted is refused by name',
        find: 'if (asked.model !== undefined && models && !models.includes(asked.model))',
        replace: 'if (false)',
      },
      {
        name: 'granted-model-answers',
        what: 'a granted model is not replaced by one that was not granted',
        find: '!allowed || allowed.some((name) => isNamed(name, selection))',
        replace: 'true || selection',
      },
    ],
  ),
  ...of(
    'src/agents/code-reach.ts',
    [callTools],
    [
      {
        name: 'uses-tools-exactly',
        what: 'Y15: code reaches exactly the tools of its uses_tools',
        find: 'resolveUsesTools(uses, [...connected, ...others], without)',
        replace: 'resolveUsesTools(connected.map(({ id }) => id), connected, without)',
      },
    ],
  ),
  ...of(
    'src/agents/sub-agent-tool.ts',
    [subAgents],
    [
      {
        name: 'no-background-from-code',
        what: 'a sub-agent that code calls does not work in the background',
        find: "if (input['background'] === true && context.parent !== undefined) {",
        replace: 'if (false) {',
      },
    ],
  ),
]

const agents = of(
  'src/agents/sub-agent-tool.ts',
  [subAgents],
  [
    {
      name: 'ancestry-ban',
      what: 'C8: no agent is called from below itself',
      find: 'if (context.ancestry.includes(agent)) {',
      replace: 'if (false) {',
    },
    {
      name: 'cancel-goes-down',
      file: 'src/agents/sub-agent-reach.ts',
      what: 'E8: a cancel reaches the child, in its own object',
      find: `else context.signal.addEventListener('abort', cancel, { once: true })`,
      replace: '',
    },
    {
      name: 'cancelled-starts-nothing',
      what: 'E8: a call that was cancelled before it began starts no child',
      find: 'if (context.signal.aborted) {',
      replace: 'if (false) {',
    },
    {
      name: 'child-key',
      file: 'src/agents/sub-agent-submission.ts',
      what: 'F20: a call that is taken up again joins the child that is there',
      find: 'key: context.call,',
      replace: '',
    },
    {
      name: 'reattach',
      file: 'src/agents/sub-agent-reach.ts',
      what: 'F21: a connection to the child that broke is taken up again',
      find: 'if (tries >= maxReattaches || signal.aborted || !mayReattach(error)) throw error',
      replace: 'throw error',
    },
    {
      name: 'overloaded-child-left-alone',
      file: 'src/agents/sub-agent-reach.ts',
      what: 'F30: a child that has too much to do is not asked again',
      find: `'transient' in error && error.transient === true`,
      replace: 'true',
    },
  ],
)

const session = [
  ...of(
    'src/sessions/runs/runs.ts',
    [switchedSessions],
    [
      {
        name: 'queue-cap',
        what: 'F18, T27: a session takes so many messages and no more',
        find: 'if (live.size > maxQueued) {',
        replace: 'if (false) {',
      },
      {
        name: 'one-run-at-a-time',
        what: 'F18: the runs of a session work one after the other, in accept order',
        find: '(mustWait ? queue.then(run.work) : run.work())',
        replace: 'run.work()',
      },
      {
        name: 'gapless-log',
        what: 'F7: a run that could not be taken in, or written, leaves no gap in the log',
        find: 'if (!outcome) places.back(undefined)',
        replace: '',
      },
      {
        name: 'declined-readers-end',
        what: 'F7: who follows a session in which nothing runs any more is not left hanging',
        find: 'return live.size === 0 ? hub.rest() : undefined',
        replace: 'return undefined',
      },
      {
        name: 'cancel-durable',
        what: 'E8: a cancel is written before anything comes of it',
        find: 'if (row.cancelReason === undefined) change(row, { cancelReason: reason })',
        replace: '',
      },
      {
        name: 'first-cancel-stands',
        what: 'I15: the first reason of a cancel stands',
        find: 'if (row.cancelReason === undefined) change(row, { cancelReason: reason })',
        replace: 'change(row, { cancelReason: reason })',
      },
      {
        name: 'end-retried',
        what: 'F7: what could not even be brought to an end is said so and comes back',
        find: 'options.onLeft(row, outcome)',
        replace: 'if (outcome) options.onLeft(row, outcome)',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-work.ts',
    [switchedSessions],
    [
      {
        name: 'used-up-refused',
        what: "E1: with nothing left of its principal's day a new run is refused, and nothing is kept of it",
        find: "isNew && errorCode(thrown)?.startsWith('lease_') ? usedUp(thrown) : thrown",
        replace: 'thrown',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/take-up.ts',
    [switchedSessions],
    [
      {
        name: 'wake-cap',
        what: 'F36: a run that was interrupted too often is given up',
        find: 'if (wakes <= maxWakes) launch(woken)',
        replace: 'if (wakes > 0) launch(woken)',
      },
      {
        name: 'poison-row-given-up',
        what: 'F36: a run of which something cannot be read is given up and said so',
        find: `if (store.isDamaged(row.order)) return giveUp(row, 'Its record cannot be read.', options)`,
        replace: '',
      },
      {
        name: 'wakes-counted',
        what: 'F36, E1: every wake that finds the turn open is counted, durably',
        find: 'store.writeRun(woken)\n',
        replace: '\n',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-end.ts',
    [switchedSessions],
    [
      {
        name: 'errands-written',
        what: 'I10: whom the end of a run concerns is written with its last turn',
        find: 'if (!isAlone) addErrands(row, final)',
        replace: '',
      },
      {
        name: 'errands-in-one-step',
        what: 'F7: the last turn and what is to be told land together or not at all',
        find: 'store.together(() => {\n      store.writeTurn(row.order, turn)\n      if (spent) store.writeSpent(spent)\n      children.add(row.order, begun)\n      if (!isAlone) addErrands(row, final)\n      if (hasTrace) todo.addTrace(row.id, 0)\n    })',
        replace: 'store.writeTurn(row.order, turn)\n    addErrands(row, final)',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-execution.ts',
    [switchedSessions],
    [
      {
        name: 'child-with-its-intent',
        what: 'I10: a child is on record with the intent of the call that makes it',
        tests: ['test/unit/sessions/children.test.ts'],
        find: 'childrenIn(turn, names)',
        replace: 'childrenIn({ ...turn, calls: [] }, names)',
      },
      {
        name: 'wakes-charged',
        what: 'E1: a wake charges the model call that the crash may have cut',
        find: 'lostCalls: wakes,',
        replace: 'lostCalls: 0,',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-limits.ts',
    [switchedSessions],
    [
      {
        name: 'session-limits',
        what: 'E1: the runs of a session together spend no more than its limits',
        find: 'const allowed = narrower(asked, onlyLimited(leftOfSession(row, store)))',
        replace: 'const allowed = asked',
      },
      {
        name: 'day-reserved',
        what: "E1: a run's part of its principal's day is reserved before anything is spent",
        find: 'const reserving = runtime.principals.reserve({',
        replace: 'const reserving = (async ({ asked }) => asked)({',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-limits.ts',
    [parkedDay],
    [
      {
        name: 'day-step-said',
        what: 'I10: a run that goes on says so: what was settled before is late',
        find: 'step: stepOf(row, store.turns(row.order), false) + 1,',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/log/views.ts',
    [parkedDay],
    [
      {
        name: 'day-held',
        what: 'E1: a run that waits keeps what a waiting call may still spend',
        find: 'if (isParked && tokens === 0 && costNanoUsd === 0) return',
        replace: 'if (isParked) return',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/deletion.ts',
    [parkedDay],
    [
      {
        name: 'spent-outlives-session',
        what: 'I10: a session is kept until its day knows what was spent, by its children too',
        find: 'await settleAll(parts).catch(() => Promise.reject(notYetDeletable()))',
        replace: 'await settleAll(parts).catch(() => {})',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/admission.ts',
    [switchedSessions],
    [
      {
        name: 'key-names-run',
        what: 'F17: a repeated request joins the run that its key names',
        find: 'if (key === undefined) {',
        replace: "if (key !== '') {",
      },
      {
        name: 'key-joins-at-once',
        what: 'F17: requests with one key that come side by side start one run',
        find: 'if (!isKnown()) return started(',
        replace: 'return started(',
      },
      {
        name: 'body-compared',
        what: 'F17: a key that was used with another body is refused',
        find: 'if (store.findRun(id)?.bodyHash !== bodyHash) throw',
        replace: 'if (false) throw',
      },
      {
        name: 'buried-calls',
        what: 'E8: a call that was cancelled before it came begins nothing',
        find: 'if (!lineage || todo.buried(lineage.parentRun, lineage.parentCall) === undefined) return',
        replace: 'return',
      },
      {
        name: 'buried-meanwhile',
        what: 'E8: nor if the cancel comes while its agent is looked up',
        find: 'refuseBuried(submission, todo)\n  return agent',
        replace: 'return agent',
      },
      {
        name: 'protocol-version',
        what: 'F32: what a later version asks is refused, not misread',
        find: 'if (protocol > sessionProtocol) {',
        replace: 'if (false) {',
      },
      {
        name: 'admission-principal',
        what: 'T2: a session takes nothing from another principal, and looks absent',
        find: 'if (existing && existing.principal !== rest.principal) throw noSuchSession()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/waiting/outside.ts',
    [switchedSessions],
    [
      {
        name: 'steering-key',
        what: 'F17: a message to a running run under one key is one message',
        find: 'if (at >= 0) {',
        replace: 'if (false) {',
      },
      {
        name: 'delivery-once',
        what: 'F31, I10: what came of a background call is taken once',
        find: `if (inbox.some((item) => item.call === call)) return 'known'`,
        replace: '',
      },
      {
        name: 'decided-once',
        what: 'E6: a call is decided once; another decision is refused',
        find: "if (before !== undefined) throw conflict('This call was decided already, and otherwise.')",
        replace: 'if (before !== undefined) return',
      },
      {
        name: 'decided-in-time',
        what: 'E6: nothing is decided after its time is over, though the timer is late',
        find: 'if (pause.expires && pause.sinceMs + pauseMs <= nowMs) {',
        replace: 'if (false) {',
      },
      {
        name: 'answer-once',
        what: 'F31: what came of a waiting call is taken once',
        find: "if (row.answers?.[call]?.kind === 'outcome') return 'known'",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/waiting/pauses.ts',
    [switchedSessions],
    [
      {
        name: 'pause-expiry',
        what: 'E6: a wait for a person ends',
        find: 'expires && sinceMs + pauseMs <= nowMs',
        replace: 'expires && sinceMs < 0',
      },
      {
        name: 'decision-shows-arguments',
        what: 'T21: a decision about other arguments than those shown is refused',
        find: 'if (decision.argsHash !== undefined && decision.argsHash !== argsHash) {',
        replace: 'if (false) {',
      },
    ],
  ),
  ...of(
    'src/sessions/log/stream-reader.ts',
    [switchedHub],
    [
      {
        name: 'no-repeats',
        what: 'I16: no event reaches a reader twice',
        find: 'if (item.seq <= seq) return',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/log/stream-hub.ts',
    [switchedHub],
    [
      {
        name: 'sync-before-event',
        what: 'F4: an event leaves to a reader only after it is durable',
        find: '.then(() => (isDurable ? sync() : undefined))',
        replace: '.then(() => undefined)',
      },
      {
        name: 'no-overtaking',
        what: 'I16: no text reaches a reader before an event that happened before it',
        find: 'if (waiting === 0) broadcast(delta)',
        replace: 'if (waiting >= 0) broadcast(delta)',
      },
      {
        name: 'not-durable-not-told',
        what: 'F7: what could not be made durable ends its readers, and is not told',
        tests: ['test/unit/sessions/stream-hub.test.ts'],
        find: '.catch(() => readers.forEach((reader) => reader.end()))',
        replace: '.catch(work)',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/recovery.ts',
    [switchedSessions],
    [
      {
        name: 'recovery-job',
        what: 'F4: an accepted run has a timer that wakes its object without traffic',
        find: 'isDue ? setAlarm(time) : jobs.push({ id, fn: id, time })',
        replace: 'Promise.resolve()',
      },
      {
        name: 'alarm-near-again',
        what: 'F4: a run of a session that was at rest has its alarm as near as the first one',
        tests: ['test/unit/sessions/recovery.test.ts'],
        find: 'isDue ? setAlarm(time) :',
        replace: 'isDue ? Promise.resolve() :',
      },
      {
        name: 'alarm-stays-near',
        what: 'F15: the alarm is not moved away from a session that has something to carry',
        tests: ['test/unit/sessions/recovery.test.ts'],
        find: '!runs.isBehind() && outbox.isEmpty()',
        replace: '!runs.isBehind()',
      },
      {
        name: 'lost-runs-taken-up',
        what: 'F7: a run whose end could not be written is taken up again by the timer',
        find: 'if (runs.isBehind()) runs.resume()',
        replace: '',
      },
      {
        name: 'carried-by-timer',
        what: 'I10: what could not be carried is carried again',
        find: 'await courier.carry()',
        replace: '',
      },
      {
        name: 'timer-kept-for-record',
        what: 'F15: the timer stays until the database has the record',
        find: 'if (isCarried && isAtRest())',
        replace: 'if (runs.isIdle())',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/upkeep.ts',
    [switchedSessions],
    [
      {
        name: 'alarm-never-throws',
        what: 'F10: a timer whose work fails comes back',
        find: `report('alarm_failed', errorMessage(error))`,
        replace: 'throw error',
      },
      {
        name: 'pause-timer',
        what: 'E6: a wait has a timer for its end',
        find: `jobs.push({ id: 'pauses', fn: 'pauses', time }).catch(recovery.ensure)`,
        replace: '',
      },
      {
        name: 'day-settled',
        what: "E1: a run that is over gives back what it did not use of its principal's day",
        find: 'if (outcome) settleRun(row).catch(() => {})',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/waiting/courier.ts',
    [switchedSessions],
    [
      {
        name: 'kept-until-acknowledged',
        what: 'I10: an errand is forgotten only after it was acknowledged',
        find: 'await run(errand, options)\n          todo.remove(key)',
        replace: 'todo.remove(key)\n          await run(errand, options)',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/errands.ts',
    [switchedSessions],
    [
      {
        name: 'orphans-cancelled',
        what: 'E8: what a run started and no longer waits for is cancelled with it',
        find: 'return [...outcome, ...cancels]',
        replace: 'return outcome',
      },
      {
        name: 'outcome-delivered',
        what: 'I10: a background child tells its caller what came of it',
        find: 'const outcome: Errand[] = isAwaited\n',
        replace: 'const outcome: Errand[] = false\n',
      },
    ],
  ),
  ...of(
    'src/sessions/storage/log-rows.ts',
    [switchedSessions],
    [
      {
        name: 'poison-row-isolated',
        what: 'F36: a row that cannot be read harms no other run',
        find: '} catch {\n    return undefined\n  }',
        replace: '} catch (error) {\n    throw error\n  }',
      },
    ],
  ),
  ...of(
    'src/sessions/log/log-view.ts',
    [switchedSessions],
    [
      {
        name: 'log-in-order',
        what: 'I16: the log is read in the order of its places, though a parked run goes on after later ones',
        find: 'one.seq - other.seq',
        replace: '0',
      },
    ],
  ),
  ...of(
    'src/sessions/log/spending.ts',
    [switchedSessions],
    [
      {
        name: 'background-corrected',
        what: 'E1: what a background child did not use comes back when it reports',
        find: 'addUsage(sum, correctionOf(item, turns))',
        replace: 'sum',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/deletion.ts',
    [switchedSessions],
    [
      {
        name: 'unlisted-first',
        what: 'I12: a session that is on the list can be opened: it is taken off before it is gone',
        find: 'await outbox.unlist().catch(() => Promise.reject(notYetDeletable()))',
        replace: 'await outbox.unlist().catch(() => {})',
      },
    ],
  ),
  ...of(
    'src/sessions/log/session-card.ts',
    [switchedSessions],
    [
      {
        name: 'card-holds-up-nothing',
        what: 'F36: a run that cannot be read does not hold up the record',
        find: '} catch {',
        replace: '} catch (error) {\n    throw error',
      },
    ],
  ),
  ...of(
    'src/sessions/storage/todo.ts',
    [switchedSessions],
    [
      {
        name: 'graves-end',
        what: 'a cancel that its call never followed is forgotten',
        find: 'AND ${atMs} <= ?`',
        replace: 'AND ${atMs} < ? - 1e15`',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/audit-outbox.ts',
    [switchedSessions],
    [
      {
        name: 'audit-watermark',
        what: 'M5: after a restart the record goes on where the database is',
        find: 'sent ??= await sink.watermark(owner, counted)',
        replace: 'sent ??= 0',
      },
      {
        name: 'audit-behind-kept',
        what: 'F15: what the database did not take is sent again',
        find: 'await sink.append(owner, { events, card: card() }, counted)',
        replace: 'await sink.append(owner, { events, card: card() }, counted).catch(() => {})',
      },
    ],
  ),
  ...of(
    'src/sessions/gateway.ts',
    [gateway],
    [
      {
        name: 'platform-faults-mapped',
        what: 'F1, F2: a call that the platform broke is a 503 that says when to come back',
        find: 'if (!fault) throw error',
        replace: 'throw error',
      },
      {
        name: 'overload-left-alone',
        what: 'F30: an object that has too much to do is not asked again',
        find: `if (outcome.fault?.kind === 'broken' && kinds[method] === 'read')`,
        replace: `if (outcome.fault && kinds[method] === 'read')`,
      },
      {
        name: 'reads-asked-again',
        what: 'F2: a call that only reads is made once more on a new stub',
        find: `if (outcome.fault?.kind === 'broken' && kinds[method] === 'read')`,
        replace: 'if (false)',
      },
      {
        name: 'changes-not-repeated',
        what: 'F31: a call that changes something is not repeated by us',
        find: `if (outcome.fault?.kind === 'broken' && kinds[method] === 'read')`,
        replace: `if (outcome.fault?.kind === 'broken')`,
      },
      {
        name: 'new-stub-after-break',
        what: 'F2: a broken stub is not used again',
        find: 'stub = stubOf()\n      return',
        replace: 'return',
      },
    ],
  ),
  ...of(
    'src/sessions/storage/ids.ts',
    [switchedNames],
    [
      {
        name: 'length-prefixed-names',
        what: 'T2: no two lists of parts name the same object',
        find: 'sha256(lengthPrefixed(parts))',
        replace: `sha256(parts.join(':'))`,
      },
      {
        name: 'run-names',
        what: 'T2: no principal reaches the run of another by its key',
        find: 'sha256(lengthPrefixed([of.session, of.principal, of.key]))',
        replace: 'sha256([of.session, of.principal, of.key].join(":"))',
      },
    ],
  ),
  ...of(
    'src/sessions/platform-fault.ts',
    [gateway],
    [
      {
        name: 'forged-flags',
        what: "F30: an error that code in the object threw does not pass for one of the platform's",
        find: `if (has(cause, 'remote')) {`,
        replace: 'if (missingMethod.test(text)) {',
      },
    ],
  ),
  ...of(
    'src/sessions/gateway.ts',
    ['test/workers/retention.workers.test.ts'],
    [
      {
        name: 'gone-asked-again',
        what: 'docs/design.md section 11: a session that was deleted can be begun again at once',
        filter: 'its name begins another',
        find: `if (outcome.fault?.kind === 'gone')`,
        replace: 'if (false)',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/responses/response-places.ts',
    ['test/workers/responses.workers.test.ts'],
    [
      {
        name: 'unstored-not-named',
        what: 'M6: a response that was not to be stored cannot be named, whatever it went on from',
        filter: 'cannot be named',
        find: " || echo?.['store'] === false)",
        replace: ')',
      },
      {
        name: 'open-calls-answered',
        what: 'M6: a conversation does not go on while a call of its client has no output',
        filter: 'does not go on while',
        find: 'if (isClients && asked) throw',
        replace: 'if (false && asked) throw',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/failure-reply.ts',
    [outages],
    [
      {
        name: 'storage-faults-mapped',
        what: 'F7: a write that the disk does not take is a 503 that says when to come back',
        filter: 'F7: refuses a submission with 503',
        find: 'const isFault = isStorageFault(error)',
        replace: 'const isFault = false',
      },
    ],
    'workers',
  ),
]

const object = [
  ...of(
    'src/sessions/opened-session.ts',
    [objects],
    [
      {
        name: 'resume-at-start',
        what: 'I12: an object that is loaded takes up what it was working on',
        tests: [sessionObject],
        filter: 'I12',
        find: 'parts.runs.resume()',
        replace: '',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/scope.ts',
    [objects],
    [
      {
        name: 'own-session',
        what: 'T2: a session of another principal looks like one that is not there',
        filter: 'T2',
        find: 'if (!session || session.principal !== principal) {',
        replace: 'if (!session) {',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/readers.ts',
    [objects],
    [
      {
        name: 'sync-before-backlog',
        what: 'F4: a reader who comes back gets only what is durable',
        filter: 'comes back with a cursor',
        find: 'await synced()\n      const { store, runs, hub } = parts()',
        replace: 'const { store, runs, hub } = parts()',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/submissions.ts',
    [objects],
    [
      {
        name: 'sync-before-stream-backlog',
        what: 'F4: a reader who joins a run gets only what is durable',
        filter: 'joins a run',
        find: 'if (hasBegun) await scope.synced()',
        replace: '',
      },
      {
        name: 'abandon-last-reader',
        what: 'F28: a reader who leaves cancels a run only if nobody else waits for it',
        tests: [regressions],
        filter: 'goes on when a stream of it is closed',
        find: 'if (!isAwaited) await stopped',
        replace: 'await stopped',
      },
      {
        name: 'nothing-into-a-deletion',
        what: 'F18: a session that is being deleted takes in nothing',
        tests: [regressions],
        filter: 'that is deleted takes in nothing',
        find: 'refuseWhileDeleting()\n    onSession(session)',
        replace: 'onSession(session)',
      },
    ],
    'workers',
  ),
  ...of(
    'src/sessions/arrivals.ts',
    [objects],
    [
      {
        name: 'cancel-buried',
        what: 'E8: a cancel that comes before what it cancels is remembered',
        tests: [outside],
        filter: 'that comes before what it cancels',
        find: 'todo.bury({ parentRun, call, reason, atMs: runtime.clock.nowMs() })',
        replace: '',
      },
      {
        name: 'delivery-wakes',
        what: 'N12: what a parked run waited for wakes it',
        tests: [outside],
        filter: 'parks the whole branch',
        find: 'runs.wake(run)',
        replace: '',
      },
    ],
    'workers',
  ),
]

const governance = [
  ...of(
    'src/governance/day.ts',
    [dayLedger],
    [
      {
        name: 'day-refuses',
        what: 'E1: a day of which nothing is left gives nothing',
        find: 'if (asked > 0 && left === 0) return undefined',
        replace: '',
      },
      {
        name: 'day-gives-what-is-left',
        what: 'E1: a day gives no more than is left of it',
        find: 'Math.min(asked >= limit ? share : asked, left)',
        replace: '(asked >= limit ? share : asked)',
      },
      {
        name: 'days-go-forward',
        what: 'F29: a clock that goes back opens no day again',
        find: 'seen !== undefined && seen > today ? seen : today',
        replace: 'today',
      },
      {
        name: 'day-hostile-figures',
        what: 'T19: a figure that is none counts as everything',
        find: 'Number.isNaN(value) ? unlimited : ',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/day-ledger.ts',
    [dayLedger],
    [
      {
        name: 'day-reserves-once',
        what: 'I10: a run that asks twice reserves once',
        find: 'const open = rows.lease(run)',
        replace: 'const open = undefined',
      },
      {
        name: 'day-counts-reserved',
        what: 'E1: what is reserved counts against the day',
        find: 'plus(rows.settledIn(day), reservedIn(day, rows.leases()))',
        replace: 'rows.settledIn(day)',
      },
      {
        name: 'day-lease-closed',
        what: 'E1: settling ends the reservation',
        find: 'if (lease) rows.closeLease(run)',
        replace: '',
      },
      {
        name: 'day-late-word',
        what: 'I10: what is said of an earlier step than what is known changes nothing',
        find: 'if (step !== undefined && step < known.step) return',
        replace: '',
      },
      {
        name: 'day-step-goes-on',
        what: 'I10: a run that goes on with the reservation it has makes what it said before late',
        find: 'if (at > known.step && at > firstStep)',
        replace: 'if (false)',
      },
      {
        name: 'day-of-now',
        what: 'E1: a run that goes on reserves in the day of then',
        find: 'const day = today(nowMs)\n      const isOfToday',
        replace: 'const day = before?.day ?? today(nowMs)\n      const isOfToday',
      },
      {
        name: 'day-base',
        what: 'E1: what was settled in an earlier day is not booked again',
        find: 'minus(toAmount(spent), known.base)',
        replace: 'toAmount(spent)',
      },
    ],
  ),
  ...of(
    'src/governance/principal-rows.ts',
    [dayLedger],
    [
      {
        name: 'day-settles-once',
        what: 'I10: what a run says last replaces what it said before',
        find: 'book(day, minus(amount, settled(run)?.amount ?? nothing))',
        replace: 'book(day, amount)',
      },
      {
        name: 'day-older-object',
        what: 'F32: an object of an earlier version gets the table it has not',
        find: 'if (made.length === 1) exec(tables)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/lease-checks.ts',
    [dayLedger],
    [
      {
        name: 'sweep-frees',
        what: 'I3: a reservation whose run was never written is freed',
        find: `else if (spending?.state === 'unknown') rows.closeLease(run)`,
        replace: '',
      },
      {
        name: 'sweep-settles',
        what: 'I3: a run that is over and never said so is settled',
        find: `const isSettled = spending?.state === 'over' ||`,
        replace: 'const isSettled =',
      },
      {
        name: 'sweep-settles-parked',
        what: 'I3: a run that waits and never gave back what it reserved is settled with what it has spent',
        find: ` || spending?.state === 'parked'`,
        replace: '',
      },
      {
        name: 'sweep-goes-on',
        what: 'I3: a run that has gone on since its session was asked is asked about again',
        find: 'if (rows.lease(run)) rows.checkLater',
        replace: 'if (!isSettled) rows.checkLater',
      },
      {
        name: 'sweep-waits',
        what: 'I3: no reservation is asked about before its run can be written',
        find: 'return due.filter(({ checks }) => checks > 0)',
        replace: 'return due',
      },
      {
        name: 'sweep-late-answer',
        what: 'I3: an answer that is older than a reservation does not touch it',
        find: 'if (!lease || lease.checks === 0) return',
        replace: 'if (!lease) return',
      },
    ],
  ),
  ...of(
    'src/governance/sweep.ts',
    ['test/unit/governance/sweep.test.ts'],
    [
      {
        name: 'sweep-isolates',
        what: 'I3: a session that hangs or fails holds up no other',
        find: 'return undefined // unreachable: its reservation stays until it answers',
        replace: `return { state: 'unknown', usage: undefined as never }`,
      },
    ],
  ),
  ...of(
    'src/governance/principal-ledger.ts',
    [principalLedger],
    [
      {
        name: 'day-fails-closed',
        what: 'E1: a day that cannot be asked gives nothing',
        find: 'return ask(request.principal, (api) => api.reserve(request, limits), counted)',
        replace: `return ask(request.principal, (api) => api.reserve(request, limits), counted).catch((error) => {
        if (error.code === 'request_unavailable') return request.asked
        throw error
      })`,
      },
      {
        name: 'settings-fail-closed',
        what: 'E1: settings that cannot be read are no permission to spend',
        find: 'return await limitsOf(principal, known)\n  } catch (cause) {\n    throw unavailable(cause)',
        replace:
          'return await limitsOf(principal, known)\n  } catch (cause) {\n    return { tokens: unlimited, costNanoUsd: unlimited }',
      },
      {
        name: 'day-overload-left-alone',
        what: 'F30: a day that has too much to do is not asked again',
        find: `flags.overloaded === true) return false`,
        replace: 'false) return false',
      },
    ],
  ),
]

const models = [
  ...of(
    'src/models/openai/call-watch.ts',
    [provider],
    [
      {
        name: 'idle-timeout',
        what: 'F13: a half-open stream ends',
        find: 'stop.abort(timeout(`The model sent nothing for ${idleMs} ms.`))',
        replace: '',
      },
      {
        name: 'total-timeout',
        what: 'F12: a model call has a deadline, whatever arrives',
        find: 'stop.abort(timeout(`The model did not finish within ${timeoutMs} ms.`))',
        replace: 'undefined',
      },
    ],
  ),
  ...of(
    'src/models/openai-provider.ts',
    [provider],
    [
      {
        name: 'retry-cap',
        what: 'F12: a failing service is asked three times, not for ever',
        find: 'tries === maxTries',
        replace: 'tries === 9',
      },
      {
        name: 'no-retry-mid-reply',
        what: 'F13: a reply that broke off is not asked for again',
        find: 'watch.hasHeard() || tries',
        replace: 'tries',
      },
      {
        name: 'retry-after-capped',
        what: 'F12: a service cannot make us wait for longer than 20 seconds',
        find: 'Math.min(retryAfterMs ?? firstBackoffMs * 2 ** (tries - 1), maxRetryAfterMs)',
        replace: 'retryAfterMs ?? firstBackoffMs * 2 ** (tries - 1)',
      },
    ],
  ),
  ...of(
    'src/models/openai-provider.ts',
    ['test/unit/models/dialects.test.ts'],
    [
      {
        name: 'field-changed-once',
        what: 'F12: a server that takes neither field of the output cap is asked twice, not for ever',
        find: '!refusedFields.has(refused.field) && ',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/models/selection/capability-check.ts',
    ['test/unit/models/cost-limits.test.ts'],
    [
      {
        name: 'unknown-price-too-dear',
        what: 'E1: under a cost limit a model without a price is not asked',
        find: 'isPriced || needs.maxCostNanoUsd >= unlimited',
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/leases/generate.ts',
    ['test/unit/models/cost-limits.test.ts'],
    [
      {
        name: 'cost-ceiling-told',
        what: 'E1: every model request says what may still be spent, whoever asks',
        find: 'const request = { ...asked, maxCostNanoUsd: ceiling }',
        replace: 'const request = asked',
      },
    ],
  ),
  ...of(
    'src/models/selection/fallback.ts',
    ['test/unit/models/fallback.test.ts'],
    [
      {
        name: 'no-fallback-after-delta',
        what: 'I6: another model does not go on where one has begun to speak',
        find: ' || attempt.isHeard()',
        replace: '',
      },
      {
        name: 'no-fallback-without-leave',
        what: 'E1: another model is not asked if the lease refused the attempt before it',
        find: ' || attempt.isRefused()',
        replace: '',
      },
      {
        name: 'fallback-reserved',
        what: 'E1: another model is not asked if the lease refuses its price',
        find: 'if (!call.mayRetry(error, { selection, estimate: next.estimate })) throw error',
        replace: 'call.mayRetry(error, { selection, estimate: next.estimate })',
      },
    ],
  ),
  ...of(
    'src/models/openai/reply-assembly.ts',
    [switchedModels],
    [
      {
        name: 'hostile-usage',
        what: 'T19: a count that cannot be one is ignored',
        find: 'return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined',
        replace: 'return { inputTokens, outputTokens } as Assembled["usage"]',
      },
      {
        name: 'reply-size-cap',
        what: 'A7: a reply has a largest size',
        find: `if (chars > maxReplyChars) throw tooLarge('4 MiB of text and arguments')`,
        replace: '',
      },
      {
        name: 'arguments-size-cap',
        what: 'A7: the arguments of a call have a largest size',
        find: `if (draft.json.length > maxArgumentsChars) throw tooLarge('1 MiB of arguments for one call')`,
        replace: '',
      },
      {
        name: 'cut-reply-is-none',
        what: 'F13: a reply that ends without a reason is a lost connection',
        tests: [provider],
        filter: 'without a finish reason',
        find: 'if (finishReason === undefined) {',
        replace: 'if (finishReason === null) {',
      },
    ],
  ),
  ...of(
    'src/models/openai/reply-limits.ts',
    [switchedModels],
    [
      {
        name: 'wire-size-cap',
        what: 'A7: a reply that never ends is cut off',
        find: 'export const maxReplyBytes = 64 * MiB',
        replace: 'export const maxReplyBytes = 80 * MiB',
      },
      {
        name: 'piece-size-cap',
        what: 'A7: a piece that never ends is cut off before it fills the memory',
        find: 'if (piece > maxPieceBytes) throw tooManyBytes(maxPieceBytes)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/models/openai/failures.ts',
    [provider],
    [
      {
        name: 'key-redacted',
        what: 'T4: a service that quotes our key does not get it into the record',
        find: "apiKey ? text.replaceAll(apiKey, '[key]') : text",
        replace: 'text',
      },
    ],
  ),
]

const telemetry = 'test/unit/governance/telemetry'

const exported = [
  ...of(
    'src/governance/telemetry/log-writer.ts',
    [`${telemetry}/log-writer.test.ts`],
    [
      {
        name: 'log-redacted',
        what: 'T4, I28: a known secret does not come out in the log',
        find: 'redactShown(redact(text))',
        replace: 'redactShown(text)',
      },
      {
        name: 'log-shown-key-redacted',
        what: 'I28: a key that was shown does not come out in the log',
        find: 'redactShown(redact(text))',
        replace: 'redact(text)',
      },
      {
        name: 'log-addresses-cut',
        what: 'I28: what an address carries besides its place does not come out in the log',
        find: 'withoutCredentials(cutShort',
        replace: '((plain) => plain)(cutShort',
      },
      {
        name: 'log-cut-before-credentials',
        what: 'F36: a long text is cut before credentials are looked for in it',
        filter: 'F36: a text is cut',
        find: 'cutShort(redactShown(redact(text)))',
        replace: 'redactShown(redact(text))',
      },
      {
        name: 'log-cut-user-part',
        what: 'I28: the user part of an address that the cut parts from its end does not come out',
        filter: 'userinfo without an end',
        find: `.replace(/:\\/\\/[^\\s/?#"'<>]*$/, '://[cut]')`,
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/telemetry/content.ts',
    [`${telemetry}/otlp-exporter.test.ts`],
    [
      {
        name: 'content-redacted-before-cut',
        what: 'T4, I28: a secret is taken out of what is captured before that is cut',
        find: 'const safe = redact(value)',
        replace: 'const safe = value',
      },
      {
        name: 'content-capped',
        what: 'P29: what is captured has a largest size',
        find: 'if (sizeChars > maxAttributeChars) break',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/telemetry/span-limits.ts',
    [`${telemetry}/spans.test.ts`],
    [
      {
        name: 'spans-limited',
        what: 'F36: a run of a thousand turns is exported within the memory of its object',
        filter: 'F36: of a long run',
        find: 'if (room <= 0) continue',
        replace: '',
      },
      {
        name: 'spans-of-a-turn-limited',
        what: 'F36: a turn of a thousand calls is exported within the memory of its object',
        filter: 'F36: of one turn',
        find: 'const kept = Math.min(spans, room - 1)',
        replace: 'const kept = spans',
      },
      {
        name: 'content-limited',
        what: 'F36: what is captured of a run has a largest size',
        tests: [`${telemetry}/otlp-exporter.test.ts`],
        filter: 'F36: captures',
        find: 'const attributes = leftChars > 0 ? read(...given) : undefined',
        replace: 'const attributes = read(...given)\n      leftChars = maxContentChars * 2',
      },
    ],
  ),
  ...of(
    'src/governance/telemetry/span-events.ts',
    [`${telemetry}/spans.test.ts`],
    [
      {
        name: 'span-events-limited',
        what: 'F36: a call of a thousand requests is exported within the memory of its object',
        filter: 'F36: of one turn',
        find: 'all.length > maxEvents ? all.slice(1 - maxEvents) : all',
        replace: 'all',
      },
    ],
  ),
  ...of(
    'src/governance/telemetry/otlp-exporter.ts',
    [`${telemetry}/otlp-exporter.test.ts`],
    [
      {
        name: 'export-made-as-it-is-sent',
        what: 'F36: the requests of a long run are not all held at once',
        filter: 'F36: makes no request',
        find: 'of toBodies(toSpans(run, { content }), run, options)',
        replace: 'of [...toBodies(toSpans(run, { content }), run, options)]',
      },
    ],
  ),
  ...of(
    'src/governance/telemetry/compose.ts',
    ['test/unit/composition.test.ts'],
    [
      {
        name: 'content-off',
        what: 'P29: no message leaves unless that is asked for',
        find: '...(capturesContent && { content',
        replace: '...(true && { content',
      },
    ],
  ),
  ...of(
    'src/settings.ts',
    ['test/unit/composition.test.ts'],
    [
      {
        name: 'secrets-known-each',
        what: 'I28: what is wrong with one setting makes no other a text that may be logged',
        filter: 'I28: no key of its settings',
        find: 'secrets: secretsIn(env)',
        replace: 'secrets: parsed.success ? secretsIn(env) : []',
      },
      {
        name: 'header-values-secret',
        what: "I28: no value of the collector's headers comes out, whatever its header is called",
        filter: 'I28: no key of its settings',
        find: `...read('OTEL_EXPORTER_OTLP_HEADERS').flatMap(headerSecretsIn),`,
        replace: '',
      },
    ],
  ),
  ...of(
    'src/sessions/upkeep/trace-outbox.ts',
    ['test/unit/sessions/trace-outbox.test.ts'],
    [
      {
        name: 'trace-dropped-in-the-end',
        what: 'N7: a trace that is not taken is dropped after five tries',
        filter: 'is tried five times, less',
        find: 'drop(toRuns(last), outcome.message)',
        replace: '',
      },
      {
        name: 'trace-tries-end',
        what: 'F36: an export that ends the object each time is not begun for ever',
        filter: 'F36: whose export',
        find: 'const left = waiting.filter(({ tries }) => tries < maxTries)',
        replace: 'const left = waiting',
      },
      {
        name: 'trace-try-before-export',
        what: 'F36: a try is on record, and synced, before the export goes out',
        filter: 'F36: has its try on record',
        find: 'return sync()\n      .then(() => send(next.run))',
        replace: 'return send(next.run)',
      },
      {
        name: 'trace-tries-take-time',
        what: 'F36: between two tries of a trace there is a wait, however many runs end meanwhile',
        filter: 'waits for its next try in time',
        find: 'if (!isRetry && left.some(({ tries }) => tries > 0)) return false',
        replace: '',
      },
      {
        name: 'trace-harms-no-run',
        what: 'F7: reading what is to be exported is no part of the end of a run',
        filter: 'F7: that cannot be read',
        find: 'void Promise.resolve(isRetry)\n      .then(sendNext)',
        replace: 'void Promise.resolve(sendNext(isRetry))',
      },
      {
        name: 'trace-sends-again-after-fault',
        what: 'F7: a storage that fails once does not end the exporting for the life of the object',
        filter: 'F7: goes out later',
        find: '.catch(() => false)',
        replace: '.catch(() => new Promise<boolean>(() => {}))',
      },
    ],
  ),
  ...of(
    'src/sessions/storage/todo.ts',
    ['test/unit/sessions/trace-outbox.test.ts'],
    [
      {
        name: 'trace-no-errand-before',
        what: 'F32: the version before passes over the note of a trace',
        filter: 'F32: is no errand',
        find: "const tracePrefix = 'trouble trace '",
        replace: "const tracePrefix = 'trace '",
      },
    ],
  ),
  ...of(
    'src/sessions/runs/run-end.ts',
    ['test/unit/sessions/trace-outbox.test.ts'],
    [
      {
        name: 'trace-with-the-end',
        what: 'N7, I3: what is still to be exported is on record with the end of the run',
        find: 'if (hasTrace) todo.addTrace(row.id, 0)',
        replace: '',
      },
      {
        name: 'unsampled-not-exported',
        what: 'N7: a trace that its caller does not record is not exported',
        find: 'submission.traceLink?.isSampled !== false',
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/contracts/trace.ts',
    ['test/unit/contracts/trace.test.ts'],
    [
      {
        name: 'tracestate-checked',
        what: 'N7: a tracestate that is not valid goes no further',
        find: 'members.every((member) => stateMember.test(member))',
        replace: 'true',
      },
    ],
  ),
]

const egressSecrets = 'test/unit/plugins/secrets/egress-secrets.test.ts'
const secretTests = (name) => `test/unit/governance/secrets/${name}.test.ts`

const secrets = [
  ...of(
    'src/governance/secrets/sealing.ts',
    [secretTests('sealing')],
    [
      {
        name: 'sealed-under-its-name',
        what: 'I28: one sealed secret cannot stand for another',
        find: "lengthPrefixed(['isola-secret', format, name])",
        replace: "lengthPrefixed(['isola-secret', format])",
      },
      {
        name: 'master-key-is-one',
        what: 'I28: nothing is sealed under what is no key',
        find: 'if (!keyForm.test(trimmed(current)))',
        replace: 'if (false)',
      },
    ],
  ),
  ...of(
    'src/governance/secrets/secret-administration.ts',
    [secretTests('secret-administration')],
    [
      {
        name: 'secret-learned-when-set',
        what: 'T4: a secret is unknown to no log from the moment it is set',
        find: 'deps.learn(value)',
        replace: 'void value',
      },
      {
        name: 'secret-value-checked',
        what: 'T26: a value is text of a bounded size',
        find: '      checkValue(value)\n',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/secrets/secret-reader.ts',
    [secretTests('secret-administration')],
    [
      {
        name: 'secret-learned-when-read',
        what: 'T4: a secret is unknown to no log before anybody has it',
        find: '      learn(value)\n',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/storage/secrets.ts',
    ['test/unit/storage/secrets.test.ts'],
    [
      {
        name: 'reseal-not-over-newer',
        what: 'I28: a rotation does not bring an old value back',
        find: ' AND sealed = ?4',
        replace: ' AND ?4 = ?4',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/placeholders.ts',
    [egressSecrets],
    [
      {
        name: 'secret-for-its-host',
        what: 'P24: a secret goes to the granted host only',
        find: 'grant.host?.toLowerCase() === host',
        replace: 'grant.host !== host.slice(99)',
      },
      {
        name: 'secret-of-this-call',
        what: 'T4: a placeholder that was guessed, or kept of another call, is text',
        find: "toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce)",
        replace: "toPlaceholder('([A-Z][A-Z0-9_]{0,63})', nonce && '[^ ]*')",
      },
      {
        name: 'secret-in-its-place',
        what: 'P22: a secret goes where the grant says only',
        find: 'if (ofHost.some((grant) => grant.in === place)) return undefined',
        replace: 'if (ofHost.length > 0) return undefined',
      },
      {
        name: 'secret-not-in-body',
        what: 'P22: a placeholder in a body is refused',
        find: "    ...at('body', body),\n",
        replace: '',
      },
      {
        name: 'secret-path-encoded',
        what: 'T5: a value in a path leads nowhere else',
        find: 'filled.pathname = fill(url.pathname, encodeURIComponent)',
        replace: 'filled.pathname = fill(url.pathname)',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/secret-exchange.ts',
    [egressSecrets],
    [
      {
        name: 'secret-reply-whole',
        what: 'T4: a part of a secret does not come back by a range',
        find: 'sent.length > 0 && isPartial(request.headers)',
        replace: 'false',
      },
      {
        name: 'secret-not-by-redirect',
        what: 'T4: a redirect carries no secret to another host',
        find: 'if (isElsewhere && holdsValue(location))',
        replace: 'if (false)',
      },
      {
        name: 'server-asks-for-no-secret',
        what: 'T4: a server cannot ask for a secret by a redirect',
        find: 'if (hasPlaceholder(location, nonce))',
        replace: 'if (false)',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/call-secrets.ts',
    [egressSecrets],
    [
      {
        name: 'secret-refusals-on-record',
        what: 'T4: each refused use of a secret is on the record',
        find: "emit({ type: 'capability_refused', data })",
        replace: 'void data',
      },
      {
        name: 'secret-faults-untold',
        what: 'T4: what a fault of the table says is not told to a plugin',
        find: "errorCode(error)?.startsWith('config_') ?? false",
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/plugin-kind.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'removed-keys-sign-nothing',
        what: 'T24: a waiting version of a signer that is not accepted any more is not trusted',
        find: "const tier = isSigned ? version.tier : 'community'",
        replace: 'const { tier } = version',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/servers.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'one-owner-of-an-id',
        what: 'T24: a plugin takes no id of a remote MCP server',
        find: 'if (!(await servers?.has(id))) return',
        replace: 'if (servers?.has) return',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/mixed-forms.ts',
    ['test/unit/plugins/secrets/reply-redactor.test.ts'],
    [
      {
        name: 'redactor-work-bounded',
        what: 'T26: what would take too long to search is not handed on',
        find: 'if (work.left < 0)',
        replace: 'if (work.left < -Infinity)',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/reply-redactor.ts',
    [egressSecrets],
    [
      {
        name: 'secret-headers-redacted',
        what: 'T4: no header of a reply holds a secret',
        find: 'asHeader(text(value))',
        replace: 'value',
      },
      {
        name: 'secret-body-redacted',
        what: 'T4: no body of a reply holds a secret',
        find: 'redacted === binary ? bytes : toBytes(redacted)',
        replace: 'bytes',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/value-forms.ts',
    [egressSecrets],
    [
      {
        name: 'secret-base64-redacted',
        what: 'T4: base64 does not carry a secret back, whatever is before it',
        find: '[...hexForms(text), ...base64Forms(text)]',
        replace: 'hexForms(text)',
      },
      {
        name: 'secret-mistaken-bytes-redacted',
        what: 'T4: nor does UTF-8 that a service takes for Latin-1',
        find: '\n  toBinary,\n',
        replace: '\n',
      },
      {
        name: 'secret-latin1-redacted',
        what: 'T4: nor a reply that is not UTF-8',
        find: '    ...latin1Forms(value),\n',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/secret-capability.ts',
    [egressSecrets],
    [
      {
        name: 'hmac-granted-only',
        what: 'P22: only a secret with in: hmac signs',
        find: "grant.name === name && grant.in === 'hmac'",
        replace: 'grant.name === name',
      },
    ],
  ),
]

const rest = [
  ...of(
    'src/outbound/send.ts',
    [egress],
    [
      {
        name: 'redirects-not-followed',
        what: 'T16: a redirect gets neither key nor conversation',
        tests: [switchedModels],
        find: "redirect: 'manual' as const",
        replace: "redirect: 'follow' as const",
      },
      {
        name: 'egress-sends-key',
        what: 'F5: what may have an effect outside carries an Idempotency-Key',
        find: "headers.set('idempotency-key', idempotencyKey)",
        replace: 'void idempotencyKey',
      },
      {
        name: 'redirects-checked',
        what: 'T5: a redirect is checked like the first request',
        tests: [egress],
        find: 'const to = await allow(next, sending)',
        replace: 'const to = new URL(location, hop.url)',
      },
      {
        name: 'redirect-cap',
        what: 'T5: redirects end',
        find: 'if (redirects >= maxRedirects)',
        replace: 'if (redirects >= 9)',
      },
      {
        name: 'egress-body-cap',
        what: 'T5: a request has a largest size',
        find: 'checkSize(body, maxSentBytes)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/outbound/redirect.ts',
    [egress],
    [
      {
        name: 'credentials-stay',
        what: 'T4: credentials do not follow a redirect to another origin',
        find: '!(isElsewhere && credentialHeaders.test(name))',
        replace: 'true',
      },
      {
        name: 'secrets-stay',
        what: 'T4: a placeholder does not follow a redirect to another origin',
        tests: [egressSecrets],
        find: '!(isElsewhere && redaction?.mayLeave(name, value) === false)',
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/outbound/address.ts',
    [egress],
    [
      {
        name: 'public-hosts-only',
        what: 'T5: no request reaches a host that is not public',
        find: `if (!isPublicHost(url.hostname)) throw refused('a host that is not public')`,
        replace: '',
      },
      {
        name: 'outside-leads-outside',
        what: 'T16: what the operator set outside leads nobody into a private network',
        tests: [holes],
        find: 'return url.hostname === set.hostname || !isPublicHost(set.hostname)',
        replace: 'return true',
      },
    ],
  ),
  ...of(
    'src/outbound/answer.ts',
    [egress],
    [
      {
        name: 'reply-weighed',
        what: 'A7: every byte of a reply is weighed before it is kept',
        tests: [switchedModels],
        filter: 'A7: a reply in one piece',
        find: 'sizeBytes += value.byteLength',
        replace: '',
      },
      {
        name: 'packed-reply-weighed',
        what: 'A7: a reply that unpacks to more than its length is weighed as it is read',
        tests: ['test/unit/models/streamed-replies.test.ts'],
        find: "encoding === '' && ",
        replace: '',
      },
      {
        name: 'secret-replies-redacted',
        what: 'T4: replies are looked through for secrets',
        tests: [egressSecrets],
        find: 'if (!redaction?.redacts) {',
        replace: 'if (!redaction?.redacts || status > 0) {',
      },
      {
        name: 'egress-size-cap',
        what: 'T9: an answer has a largest size',
        tests: [switchedSurfaces],
        find: 'if (sizeBytes > maxBytes)',
        replace: 'if (sizeBytes > 2 * maxBytes)',
      },
      {
        name: 'packed-as-it-is-spelled',
        what: 'T4: what the platform does not unpack is not handed on as looked through',
        tests: [holes],
        find: 'const unpacked = /^(identity|gzip|br)?$/',
        replace: 'const unpacked = /^(identity|gzip|br)?$/i',
      },
    ],
  ),
  ...of(
    'src/outbound/deadline.ts',
    [egress],
    [
      {
        name: 'export-has-a-time',
        what: 'N12: a collector that never answers is left after ten seconds',
        filter: 'waits ten seconds',
        tests: [`${telemetry}/otlp-exporter.test.ts`],
        find: 'within: (work) => Promise.race([work, late])',
        replace: 'within: (work) => work',
      },
    ],
  ),
  ...of(
    'src/plugins/egress.ts',
    [egress],
    [
      {
        name: 'granted-hosts-only',
        what: 'T5: no request reaches a host that was not granted',
        find: 'const grant = grantFor(url, method, options)',
        replace: 'const grant = grantFor(url, method, options) ?? options.grants[0]',
      },
      {
        name: 'open-hosts-only',
        what: 'P4: no request reaches a host that the operator has not opened, redirects too',
        find: 'if (!isOpen(to)) throw',
        replace: 'if (url.hostname === to.method) throw',
      },
      {
        name: 'egress-header-cap',
        what: 'T5: the headers of a request have a largest size',
        find: 'lengths.length > maxHeaders ||',
        replace: '',
      },
      {
        name: 'egress-no-other-method',
        what: 'T5: no header makes another method of a granted one',
        find: 'x-http-method.*|x-method-override|',
        replace: '',
      },
      {
        name: 'egress-time-cap',
        what: 'T5: a request has a time',
        find: '    timeoutMs: maxRequestMs,\n',
        replace: '',
      },
      {
        name: 'egress-own-trace',
        what: 'N7: a plugin sends the trace of its call, and no state of anybody',
        find: "    headers.delete('tracestate')\n",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/call-guard.ts',
    ['test/unit/plugins/capabilities.test.ts'],
    [
      {
        name: 'dead-after-call',
        what: 'T10: what a plugin was given is dead after its call',
        tests: [switchedSurfaces],
        find: 'over.throwIfAborted()\n      await check',
        replace: 'await check',
      },
      {
        name: 'late-answers-held-back',
        what: 'T10: nothing that comes after its call reaches a plugin',
        tests: [switchedSurfaces],
        find: 'over.throwIfAborted()\n      return answer',
        replace: 'return answer',
      },
    ],
  ),
  ...of(
    'src/storage/record-rows.ts',
    [auditLog],
    [
      {
        name: 'audit-lands-once',
        what: 'M5, F15: a batch that arrives twice lands once',
        find: 'WHERE known < ?5',
        replace: '',
      },
      {
        name: 'audit-list-with-record',
        what: 'M5: what did not land is not said to be there',
        find: '${recorded} >= ?9',
        replace: '?9 >= 0',
      },
    ],
  ),
  ...of(
    'src/storage/audit-log.ts',
    [auditLog],
    [
      {
        name: 'audit-names-used-again',
        what: 'M5: the record of a session that was deleted does not hide that of its name used anew',
        find: 'WHERE id = ?1 AND since_ms = ?2',
        replace: 'WHERE id = ?1 AND ?2 = ?2',
      },
    ],
  ),
  ...of(
    'src/storage/session-index.ts',
    ['test/unit/storage/session-index.test.ts'],
    [
      {
        name: 'list-never-back',
        what: 'M5: a batch that comes late does not turn the list of sessions back',
        find: '>=\n    (sessions.since_ms',
        replace: '<>\n    (sessions.since_ms',
      },
      {
        name: 'list-later-stays',
        what: 'M5: a late deletion does not take a session of the same name off the list',
        find: 'WHERE id = ?1 AND since_ms <= ?2',
        replace: 'WHERE id = ?1 AND ?2 = ?2',
      },
    ],
  ),
  ...of(
    'src/storage/retention.ts',
    ['test/unit/storage/retention.test.ts'],
    [
      {
        name: 'events-from-the-beginning',
        what: 'invariant 8: of a log only its beginning is deleted, so that the rest stays provable',
        find: 'AND id < coalesce((SELECT min(id) FROM oldest WHERE to_ms >= ?1), ${newestId})',
        replace: 'AND to_ms < ?1 AND id < ${newestId}',
      },
      {
        name: 'older-events-from-the-beginning',
        what: 'invariant 8: the same of what an earlier version wrote',
        filter: 'N-1: deletes what',
        find: 'AND id < coalesce((SELECT min(id) FROM oldest WHERE at_ms >= ?1), ${newestId})',
        replace: 'AND at_ms < ?1 AND id < ${newestId}',
      },
      {
        name: 'older-events-first',
        what: 'invariant 8: nothing of a log goes while what an earlier version wrote before it is kept',
        filter: 'N-1: deletes what',
        find: `AND NOT EXISTS (SELECT 1 FROM audit WHERE session > '')`,
        replace: '',
      },
      {
        name: 'newest-event-stays',
        what: 'M5: the cursor of a reader goes on after everything has expired',
        find: 'WHERE to_ms >= ?1), ${newestId})',
        replace: 'WHERE to_ms >= ?1), 1e15)',
      },
      {
        name: 'deployment-head-stays',
        what: "M5: the numbers of the deployment's own log go on after it has expired",
        find: `AND id <> coalesce((SELECT id FROM audit WHERE session = '' AND since_ms = 0 ORDER BY seq DESC LIMIT 1), 0)`,
        replace: '',
      },
      {
        name: 'open-runs-stay',
        what: 'N12: a given-up run that can still be retried stays on the list',
        filter: 'takes a run off',
        find: `AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = given_up_runs.session)`,
        replace: '',
      },
      {
        name: 'retention-by-index',
        what: 'F36: the daily sweep does not read the list of sessions as a whole for each batch',
        filter: 'F36: reads no table',
        find: "WHERE kind <> 'stateless' AND used_month <= ?2",
        replace: "WHERE +kind <> 'stateless' AND +used_month <= ?2",
      },
    ],
  ),
  ...of(
    'src/storage/session-index.ts',
    ['test/unit/storage/session-index.test.ts'],
    [
      {
        name: 'list-own-by-index',
        what: "F36: a page of somebody's sessions is not looked for among everybody's",
        filter: 'finds a page',
        find: `principal === undefined ? '' : '+'`,
        replace: `''`,
      },
    ],
  ),
  ...of(
    'src/http/sessions/list-sessions.ts',
    ['test/unit/http/list-sessions.test.ts'],
    [
      {
        name: 'list-own-sessions',
        what: 'T2: nobody but operators and auditors sees the sessions of others',
        find: `if (principal !== id && !seesEverybody(role)) {`,
        replace: 'if (false) {',
      },
    ],
  ),
  ...of(
    'src/http/sessions/open-session.ts',
    [operatorSessions],
    [
      {
        name: 'open-own-session',
        what: 'T2: whoever is neither operator nor auditor opens its own sessions only',
        find: `if (!seesEverybody(context.get('principal').role)) return act(own)`,
        replace: '',
      },
    ],
    'workers',
  ),
  ...of(
    'src/http/sessions/for-others.ts',
    [operatorSessions],
    [
      {
        name: 'operator-act-recorded',
        what: 'T2: what an operator does with the session of another is on the record',
        find: 'if (opened.by === undefined) return\n',
        replace: 'return\n',
      },
    ],
    'workers',
  ),
  ...of(
    'src/storage/given-up-runs.ts',
    ['test/unit/storage/given-up-runs.test.ts'],
    [
      {
        name: 'given-up-decided-once',
        what: 'I10: what an operator decided about a run stays decided',
        find: ` AND state = 'open'\``,
        replace: '`',
      },
    ],
  ),
  ...of(
    'src/storage/outage.ts',
    ['test/unit/storage/given-up-runs.test.ts'],
    [
      {
        name: 'database-outage-mapped',
        what: 'F15: a database that is away is a 503, not a bug',
        find: 'if (ofStatement.test(errorMessage(cause))) throw cause',
        replace: 'throw cause',
      },
    ],
  ),
  ...of(
    'src/governance/authenticator.ts',
    ['test/unit/governance/authenticator.test.ts'],
    [
      {
        name: 'operator-key',
        what: 'T1: nobody passes without the key',
        find: `if (isEqual(hash, expected)) return operator`,
        replace: 'return operator',
      },
      {
        name: 'keys-end',
        what: 'T1: a key that expired or was revoked opens nothing',
        find: `if (found && stateOf(found, nowMs) === 'active')`,
        replace: 'if (found)',
      },
      {
        name: 'no-key-no-entry',
        what: 'T1: a deployment without a key refuses everybody',
        find: 'if (expected === undefined) throw notConfigured()',
        replace: 'if (expected === undefined) return operator',
      },
    ],
  ),
  ...of(
    'src/governance/limits-of.ts',
    ['test/unit/governance/limits-of.test.ts'],
    [
      {
        name: 'limits-read-anew',
        what: 'E1: a run that waited is held to the limits of the moment it starts',
        find: 'if (known && isFresh(known, clock.nowMs()))',
        replace: 'if (known)',
      },
    ],
  ),
  ...of(
    'src/governance/failed-logins.ts',
    ['test/unit/governance/failed-logins.test.ts'],
    [
      {
        name: 'failed-logins-limited',
        what: 'T1: an address that shows wrong keys is refused after thirty',
        find: 'const isLimited = ofAddress > maxFailures',
        replace: 'const isLimited = false',
      },
      {
        name: 'failed-logins-told-briefly',
        what: 'T1: a flood of wrong keys does not flood the record',
        find: `if (count(recorded, failed.key && 'keys') <= maxRecords)`,
        replace: 'if (count(recorded) > 0)',
      },
    ],
  ),
  ...of(
    'src/governance/key-administration.ts',
    ['test/unit/governance/key-administration.test.ts'],
    [
      {
        name: 'operator-name-reserved',
        what: "I26: nobody gets the operator's sessions by its name",
        find: 'if (principal === reserved) throw isReserved()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/storage/keys.ts',
    ['test/unit/storage/keys.test.ts'],
    [
      {
        name: 'rotates-active-keys-only',
        what: 'T1: a key that has ended gives no other one',
        find: "WHERE EXISTS (SELECT 1 FROM keys WHERE id = ?7 AND ${isActive('?8')})`",
        replace: 'WHERE EXISTS (SELECT 1 FROM keys WHERE id = ?7 AND ?8 > 0)`',
      },
    ],
  ),
  ...of(
    'src/http/access.ts',
    ['test/unit/http/access.test.ts'],
    [
      {
        name: 'roles',
        what: 'I26: a route answers the roles it is for',
        find: 'if (token ? has(token.scopes) : allowed.includes(role))',
        replace: 'if (token ? has(token.scopes) : true)',
      },
    ],
  ),
  ...of(
    'src/http/routes.ts',
    ['test/unit/http/access.test.ts'],
    [
      {
        name: 'routes-of-the-table',
        what: 'I26: there is no route that the table does not have',
        find: 'if (allowed === undefined) throw',
        replace: 'if (false) throw',
      },
    ],
  ),
  ...of(
    'src/http/targets.ts',
    ['test/unit/http/reach.test.ts'],
    [
      {
        name: 'agents-allowed',
        what: 'I26: a key reaches the agents it may use',
        find: 'return agents ? all.filter((name) => agents.includes(name)) : all',
        replace: 'return all',
      },
      {
        name: 'models-allowed',
        what: 'I26: a key names the models it may use',
        find: 'if (isServed(deps.models, model) && mayName(deps.models, reach, model)) return model',
        replace: 'if (isServed(deps.models, model)) return model',
      },
    ],
  ),
  ...of(
    'src/sessions/runs/admission.ts',
    ['test/workers/keys.workers.test.ts'],
    [
      {
        name: 'agents-allowed-later',
        what: 'I26: a session of an agent that a key may not use any more looks absent',
        filter: 'hold for sessions',
        find: 'allowedAgents?.includes(existing.agent) === false',
        replace: 'false',
      },
    ],
    'workers',
  ),
  ...of(
    'src/http/compose.ts',
    [switchedSurfaces],
    [
      {
        name: 'abandon-after-grace',
        what: 'F28: a reader who lost its connection has ten seconds to come back',
        find: 'await deps.sources.clock.sleep(goneGraceMs)',
        replace: '',
      },
      {
        name: 'abandon-cancels',
        what: 'F28: a closed `/v1` stream cancels its run',
        find: 'await deps.sessions.at(session).abandon(principal, run, reader)',
        replace: '',
      },
    ],
  ),
]

const isolateTests = (name) => `test/unit/plugins/isolate/${name}.test.ts`

const isolates = [
  ...of(
    'src/plugins/refusal.ts',
    ['test/unit/plugins/capabilities.test.ts'],
    [
      {
        name: 'refusals-on-record',
        what: 'T8: what a plugin uses without a grant is on the record',
        find: "if (!told.isOnRecord) emit({ type: 'capability_refused', data: { call, capability } })",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/worker-code.ts',
    [isolateTests('worker-code')],
    [
      {
        name: 'isolate-no-network',
        what: 'T5: an isolate has no network, not even the host’s',
        find: 'globalOutbound: null,',
        replace: '',
      },
      {
        name: 'isolate-empty-env',
        what: 'T4: an isolate has no binding',
        find: 'env: {},',
        replace: 'env: { LOADER: {} },',
      },
      {
        name: 'isolate-one-flag',
        what: 'T6: an isolate has no flag that opens node:',
        find: "compatibilityFlags: ['nodejs_als'],",
        replace: "compatibilityFlags: ['nodejs_als', 'nodejs_compat'],",
      },
      {
        name: 'isolate-limits',
        what: 'T10: CPU and subrequest limits are passed',
        find: 'limits: { ...isolateSettings.limits },',
        replace: '',
      },
      {
        name: 'isolate-shadowed-modules',
        what: 'T5: sockets and other modules of the platform cannot be imported',
        find: '...Object.fromEntries(shadowed.map((name) => [name, forbidden])),',
        replace: '',
      },
      {
        name: 'isolate-code-never-throws',
        what: 'T24: a failed code callback would stick to the id',
        find: 'await codeOf(plugin).catch(() => undefined)',
        replace: 'await codeOf(plugin)',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/worker-code.ts',
    ['test/hostile/islands.workers.test.ts'],
    [
      {
        name: 'isolate-reset-without-code',
        what: 'T24: an isolate without code goes away, so that the next call asks again',
        filter: 'does not stick to the id',
        find: "this.ctx.waitUntil(answered.then(() => abortIsolate('no code')))",
        replace: '',
      },
    ],
    'workers',
  ),
  ...of(
    'src/plugins/isolate/isolate-meter.ts',
    [isolateTests('isolate-meter')],
    [
      {
        name: 'isolate-price-lacking',
        what: 'E3: a call that lacks the price of a new isolate begins none',
        find: 'if (context.lease.maxCostNanoUsd < priceNanoUsd) {',
        replace: 'if (false) {',
      },
      {
        name: 'isolate-booked-once',
        what: 'E1: an isolate that was used today is not booked again, whoever asks',
        find: 'if (found === true) return free',
        replace: '',
      },
      {
        name: 'isolate-per-tree-booked',
        what: 'E1: of community code each session tree is booked its own',
        find: "plugin.tier === 'community'",
        replace: 'false',
      },
      {
        name: 'isolate-booked-daily',
        what: 'E1: another day is booked again',
        find: 'const known = `${day} ${isolate}`',
        replace: 'const known = isolate',
      },
    ],
  ),
  ...of(
    'src/plugins/inner-reach.ts',
    [isolateTests('isolate-meter')],
    [
      {
        name: 'isolate-fee-leased',
        what: 'E3: what an isolate may cost is reserved before the call',
        find: 'if (!spends) return { ...spending, feeNanoUsd: meter.priceNanoUsd }',
        replace: 'if (!spends) return spending',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/isolate-id.ts',
    [isolateTests('isolate-id')],
    [
      {
        name: 'isolate-per-tree',
        what: 'T7: community code has an isolate per session tree',
        find: "tier === 'community' ? rootSession : '',",
        replace: '',
      },
      {
        name: 'isolate-per-epoch',
        what: 'T10: an isolate of an older grant epoch is not reached again',
        find: 'shared.grantEpoch,',
        replace: '',
      },
      {
        name: 'isolate-per-code',
        what: 'T24: other code is another isolate',
        find: 'shared.hash,',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/call-gate.ts',
    [isolateTests('call-gate')],
    [
      {
        name: 'stubs-die-with-the-call',
        what: 'T10: what a call was given is dead after it',
        find: 'state.isOpen = false',
        replace: '',
      },
      {
        name: 'no-late-answers',
        what: 'T10: what is still under way when the call ends is not answered',
        find: 'return state.isOpen ? answer : over',
        replace: 'return answer',
      },
      {
        name: 'port-calls-counted',
        what: 'T8: a call asks the host a limited number of times',
        find: 'if (state[of] <= max) return true',
        replace: 'return true',
      },
      {
        name: 'port-takes-text',
        what: 'T8: an argument is a text of limited length',
        find: "typeof value === 'string' && value.length <= callCaps.maxJsonChars",
        replace: 'true',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/run-call.ts',
    [isolateTests('run-call')],
    [
      {
        name: 'runner-closes-the-gate',
        what: 'T10: the Runner ends what it handed out, however the call ended',
        find: 'gate.close()',
        replace: '',
      },
      {
        name: 'runner-deadline',
        what: 'F24: a call that never ends is ended without its session',
        find: "clock.sleep(request.timeoutMs).then(() => fault('timeout')),",
        replace: '',
      },
      {
        name: 'runner-takes-text',
        what: 'T9: an answer is a text, never a stub or an object',
        find: "if (typeof answer !== 'string') return fault('odd_answer')",
        replace: '',
      },
      {
        name: 'runner-answer-cap',
        what: 'T9: a long answer does not reach the session',
        find: "return answer.length <= maxChars ? answer : fault('too_large')",
        replace: 'return answer',
      },
      {
        name: 'runner-ends-floods',
        what: 'T8: a flood ends the call',
        find: "gate.exceeded.then((reason) => fault('exceeded', reason)),",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/answer.ts',
    [isolateTests('answer')],
    [
      {
        name: 'answer-cap-before-parse',
        what: 'T9: the length of an answer is checked before it is parsed',
        find: "if (typeof text !== 'string' || text.length > maxChars) throw tooLarge()",
        replace: '',
      },
      {
        name: 'error-text-cap',
        what: 'T9: the text of an error is capped',
        find: 'message.slice(0, 2_000)',
        replace: 'message',
      },
      {
        name: 'error-codes-are-ours',
        what: 'T9: a plugin cannot pass an error off as the host’s',
        find: "return new Error('The plugin failed.')",
        replace: 'return Object.assign(new Error(message), { code })',
      },
    ],
  ),
  ...of(
    'src/plugins/isolate/host-stubs.ts',
    [isolateTests('host-stubs')],
    [
      {
        name: 'port-arguments-parsed',
        what: 'T8: arguments of a verb are parsed',
        find: 'serve(capabilities, schema.parse(given))',
        replace: 'serve(capabilities, given)',
      },
      {
        name: 'fetcher-arguments-parsed',
        what: 'T8: a request is parsed',
        find: 'request.parse(JSON.parse(json))',
        replace: 'JSON.parse(json)',
      },
    ],
  ),
  ...of(
    'src/plugins/in-process-host.ts',
    [isolateTests('isolate-host')],
    [
      {
        name: 'isolated-code-stays-out',
        what: 'P23: code for an isolate is off where there are none',
        find: 'if (!isolates && manifest.entrypoint !== undefined)',
        replace: 'if (false)',
      },
    ],
  ),
]

const hookTests = (name) => `test/unit/plugins/hooks/${name}.test.ts`
const hookBattery = 'test/conformance/hooks.test.ts'

const hooks = [
  ...of(
    'src/plugins/hooks/call-hook.ts',
    [hookBattery],
    [
      {
        name: 'hook-late-is-no',
        what: 'P16: a hook that is late is a no',
        find: 'return outcomes ?? failedAll(events)',
        replace: 'return outcomes ?? events.map(() => ({ answer: null }))',
      },
      {
        name: 'hook-failed-is-no',
        what: 'P16: an answer that nobody asked for counts for all events',
        tests: [hookTests('call-hook')],
        find: 'return outcomes?.length === events.length ? outcomes : undefined',
        replace: 'return outcomes',
      },
      {
        name: 'hook-needs-leave',
        what: 'G12: a plugin that was switched off is not asked, and a no where it decides',
        tests: [hookTests('call-hook')],
        find: 'await deps.watchRevocation?.(plugin)',
        replace: 'await deps.watchRevocation?.(plugin).catch(() => undefined)',
      },
      {
        name: 'hook-ends-when-revoked',
        what: 'G12: a hook under way ends when its plugin is switched off',
        tests: [hookTests('call-hook')],
        find: 'watch?.signal ? AbortSignal.any([signal, watch.signal]) : signal',
        replace: 'signal',
      },
      {
        name: 'hook-never-triggers-hooks',
        what: 'P16: a hook calls no tools, so that it never sets off hooks',
        tests: [hookTests('call-hook')],
        find: "tools: { call: refuse('tools') },",
        replace: '',
      },
      {
        name: 'hook-spends-nothing',
        what: 'P16: a hook asks no model: nobody would pay for it',
        tests: [hookTests('call-hook')],
        find: "model: { generate: refuse('model') },",
        replace: '',
      },
      {
        name: 'hook-capabilities-end',
        what: 'X2: what a hook was given is dead when it has answered',
        tests: [hookTests('tool-hooks')],
        find: 'close()\n    watch?.end()',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/hooks/hook-answer.ts',
    [hookBattery],
    [
      {
        name: 'hook-garbage-is-no',
        what: 'P16: an answer that the point does not know is none',
        find: "if (!read.success) return { verdict: 'failed' }",
        replace: "if (!read.success) return { verdict: 'allow' }",
      },
      {
        name: 'hook-veto-wins',
        what: 'P16: a veto wins over a change',
        find: "if (message !== undefined) return { verdict: 'vetoed', message }",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/hooks/listeners.ts',
    [hookBattery],
    [
      {
        name: 'hook-match',
        what: 'P16: what does not match never leaves the host',
        find: 'hook.on === on && isMatch(hook.match, name)',
        replace: 'hook.on === on',
      },
    ],
  ),
  ...of(
    'src/plugins/hooks/ask-point.ts',
    [hookTests('tool-hooks')],
    [
      {
        name: 'hook-stops-at-veto',
        what: 'P16: after a no nobody else is asked, and nothing changes it',
        find: '!answered[place]!.stopped && isFor(plugin, on, name)',
        replace: 'isFor(plugin, on, name)',
      },
      {
        name: 'hook-one-limit',
        what: 'P16: the time limit is for all plugins of a point together',
        find: 'Math.max(0, endsAtMs - startedAtMs)',
        replace: 'deps.hookTimeoutMs',
      },
      {
        name: 'hook-fails-closed',
        what: 'P16: a hook that fails where it decides is a no',
        tests: [hookBattery],
        find: 'return deciding.has(on) ? { ...answered, stopped: { plugin } } : answered',
        replace: 'return answered',
      },
      {
        name: 'hook-notice-breaks-nothing',
        what: "P16: a hook that is only told stands in nobody else's way",
        tests: [hookTests('model-hooks')],
        find: 'return deciding.has(on) ? { ...answered, stopped: { plugin } } : answered',
        replace: 'return { ...answered, stopped: { plugin } }',
      },
    ],
  ),
  ...of(
    'src/plugins/hooks/tool-hooks.ts',
    [hookBattery],
    [
      {
        name: 'hook-result-capped',
        what: 'P16: a hook makes no result longer than may go to the model',
        find: 'if (JSON.stringify(output).length > maxChars) return heldBack(failedText)',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/hooks/model-hooks.ts',
    [hookTests('model-hooks')],
    [
      {
        name: 'hook-model-veto',
        what: 'P16: a no before a model call is one: it is not made',
        find: "refuse(before, 'this model call')",
        replace: '',
      },
    ],
  ),
]

const archiveTricks = 'test/hostile/archives.test.ts'
const manifestTricks = 'test/hostile/manifests.test.ts'
const installTests = (name) => `test/unit/plugins/install/${name}.test.ts`

const strangers = 'test/hostile/authors.test.ts'

const uploads = [
  ...of(
    'scripts/isola/sandbox.mjs',
    [strangers],
    [
      {
        name: 'author-no-network',
        what: 'T5: what runs of a plugin on its author’s machine has no network',
        find: '      globalOutbound: null,\n',
        replace: '',
      },
    ],
  ),
  ...of(
    'scripts/isola/plugin-build.mjs',
    [strangers],
    [
      {
        name: 'author-own-files',
        what: 'T24: a bundle has files of its folder and of packages',
        find: 'if (isInside(folder, path) || isPackageModule(path, attributes))',
        replace: 'if (true)',
      },
      {
        name: 'author-package-modules',
        what: 'T24: of a package its modules are bundled, and no hidden file of it',
        find: "!inside.some((part) => part.startsWith('.')) &&",
        replace: 'true &&',
      },
      {
        name: 'author-no-links',
        what: 'T24: a file that plugin.yaml names is no link out of the folder',
        find: 'if (!isInside(folder, file))',
        replace: 'if (false)',
      },
    ],
  ),
  ...of(
    'src/plugins/install/archive-paths.ts',
    [archiveTricks],
    [
      {
        name: 'upload-no-traversal',
        what: 'T26: a path of an archive stays in its folder',
        find: "if (segments.includes('..')) return 'leaves the folder (..)'",
        replace: '',
      },
      {
        name: 'upload-no-controls',
        what: 'T26: a path has no control or invisible character',
        find: "if (/\\p{C}/u.test(path)) return 'has control or invisible characters'",
        replace: '',
      },
      {
        name: 'upload-distinct-names',
        what: 'T26: no two names that some file system takes for one',
        find: "path.normalize('NFKC').toLowerCase().normalize('NFKC')",
        replace: 'path',
      },
    ],
  ),
  ...of(
    'src/plugins/install/zip-directory.ts',
    [archiveTricks],
    [
      {
        name: 'zip-covered',
        what: 'T26: every byte of an archive belongs to one entry',
        find: 'checkCovered(view, entries, start)',
        replace: '',
      },
      {
        name: 'zip-one-end',
        what: 'T26: an archive has one end',
        find: "if (other !== undefined) throw refused('The archive has two ends.')",
        replace: '',
      },
      {
        name: 'zip-no-links',
        what: 'T26: an archive has no link and no special file',
        find: 'checkKind(view, at, { path, isFolder })',
        replace: '',
      },
      {
        name: 'zip-size-before-unpacking',
        what: 'T26: what an archive says it unpacks to is checked before it is',
        find: 'if (unpacked > bundleCaps.maxUnpackedBytes)',
        replace: 'if (false)',
      },
    ],
  ),
  ...of(
    'src/plugins/install/unzip.ts',
    [archiveTricks],
    [
      {
        name: 'zip-bytes-counted',
        what: 'T26: bytes are counted while they are unpacked',
        find: 'if (bytes.byteLength !== entry.sizeBytes) throw lies(entry)',
        replace: '',
      },
      {
        name: 'zip-checksum',
        what: 'T26: a file is what its checksum says',
        find: 'if (crc32(bytes) !== entry.crc)',
        replace: 'if (false)',
      },
    ],
  ),
  ...of(
    'src/plugins/install/read-yaml.ts',
    [manifestTricks],
    [
      {
        name: 'yaml-nesting',
        what: 'T26: YAML is not nested without end',
        find: '  checkNesting(text, source)\n  const lines',
        replace: '  const lines',
      },
      {
        name: 'yaml-proto-keys',
        what: 'T26: no key of YAML is __proto__',
        find: "if (key.value === '__proto__')",
        replace: 'if (false)',
      },
      {
        name: 'yaml-unique-keys',
        what: 'T26: no key of YAML is there twice',
        find: 'uniqueKeys: true',
        replace: 'uniqueKeys: false',
      },
    ],
  ),
  ...of(
    'src/plugins/install/parse-bundle.ts',
    [manifestTricks],
    [
      {
        name: 'bundle-proto-keys',
        what: 'T26: no key of a bundle is __proto__',
        find: "  refuseProtoKeys(value, 'bundle', 0)",
        replace: '',
      },
      {
        name: 'nothing-hides-in-a-manifest',
        what: 'T3: what an operator is shown before a grant is all that there is',
        find: 'if (problem !== undefined)',
        replace: 'if (problem === null)',
      },
    ],
  ),
  ...of(
    'src/plugins/install/folder-to-bundle.ts',
    [installTests('read-upload')],
    [
      {
        name: 'upload-javascript-only',
        what: 'P27: what is installed is JavaScript',
        find: 'if (/\\.m?js$/.test(path)) return toText(path, bytes)',
        replace: 'return toText(path, bytes)',
      },
    ],
  ),
  ...of(
    'src/plugins/install/fetch-archive.ts',
    [installTests('read-upload')],
    [
      {
        name: 'archive-size-counted',
        what: 'T26: an archive is counted while it is read',
        find: 'const { maxArchiveBytes: maxBytes } = bundleCaps',
        replace: 'const maxBytes = 50_000_000',
      },
    ],
  ),
  ...of(
    'src/plugins/install/signatures.ts',
    [installTests('upload-reader')],
    [
      {
        name: 'signature-fits',
        what: 'T24: a signature that does not fit is refused',
        find: 'if (!(await isSigned(signature, toSignedText(signed)))) {',
        replace: 'if (false) {',
      },
      {
        name: 'signature-of-accepted-key',
        what: 'P20: only a key that the operator accepted makes a plugin trusted',
        find: 'trusted.find(({ publicKey }) => publicKey === signature.key)',
        replace: 'trusted[0] ?? ({ name: signature.key } as TrustedKey)',
      },
    ],
  ),
  ...of(
    'src/plugins/revocation-watch.ts',
    ['test/unit/plugins/revocation-watch.test.ts'],
    [
      {
        name: 'permit-before-call',
        what: 'G12: a plugin that was switched off begins nothing',
        find: '  await check()\n  void listen(',
        replace: '  void listen(',
      },
      {
        name: 'revoked-during-call',
        what: 'G12: what is switched off ends in the middle of a call',
        find: 'const onGone = () => gone.abort(revoked())',
        replace: 'const onGone = () => {}',
      },
      {
        name: 'leave-blind',
        what: 'G12: whoever cannot look it up has no leave',
        find: 'if (!stands) throw revoked()',
        replace: 'if (stands === false) throw revoked()',
      },
      {
        name: 'leave-deaf',
        what: 'G12: what is found to be gone ends the call that uses it',
        find: 'if (stands === false) gone.abort(revoked())',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/catalog/shared-read.ts',
    ['test/unit/catalog/catalog-gateway.test.ts'],
    [
      {
        name: 'catalog-deaf',
        what: 'P25: a Catalog that does not answer holds up nobody',
        find: 'if (leftMs <= 0) {',
        replace: 'if (leftMs < -600_000) {',
      },
      {
        name: 'waited-for-once',
        what: 'F15: whoever waited once for a Catalog that does not answer does not wait again',
        find: 'if (!isSilent || since(failedAtMs) >= silentMs) return',
        replace: 'if (isSilent || !isSilent) return',
      },
    ],
  ),
  ...of(
    'src/catalog/catalog-gateway.ts',
    ['test/unit/catalog/catalog-gateway.test.ts'],
    [
      {
        name: 'catalog-incomplete',
        what: 'P25: a set with a bundle missing is put together again',
        find: 'known?.number === number && isComplete(known)',
        replace: 'known?.number === number',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/restore.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'revoked-stays-gone',
        what: 'G12: a rollback brings nothing back that was taken back',
        find: 'const after = revocationOf(await revocations(store), id)',
        replace: 'const after = 0',
      },
      {
        name: 'restored-without-revoked',
        what: 'G12: nor does a restored generation',
        find: 'const isTaken = revocationOf(taken, row.id) > target.number',
        replace: 'const isTaken = false',
      },
    ],
  ),
  ...of(
    'src/plugins/secrets/reply-redactor.ts',
    ['test/unit/plugins/secrets/reply-redactor.test.ts'],
    [
      {
        name: 'mixed-writings-redacted',
        what: 'T4: a value of which some characters are escaped is taken out of a reply',
        find: '[mixedSpans, brokenBase64Spans]',
        replace: '[brokenBase64Spans]',
      },
      {
        name: 'broken-base64-redacted',
        what: 'T4: a value in base64 of several lines is taken out of a reply',
        find: '[mixedSpans, brokenBase64Spans]',
        replace: '[mixedSpans]',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/add.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'version-keeps-content',
        what: 'P27: a version number keeps its content',
        find: 'if (!replace) refuseOtherContent(plugin, { sameNumber, versions })',
        replace: '',
      },
      {
        name: 'wider-is-off',
        what: 'E2: a version that asks for more does not go live',
        find: 'if (more.length === 0 && rank[tier] >= rank[before.tier]) {',
        replace: 'if (true) {',
      },
      {
        name: 'narrower-has-less',
        what: 'E2: what a version does not ask for it does not have',
        find: 'permit, permitHash: hash }',
        replace: 'permitHash: hash }',
      },
      {
        name: 'kept-for-its-owner',
        what: 'T24: nobody comes by what a removed plugin kept by taking its id',
        find: 'if (isTaken && !(takeOver && by.mayEnable)) throw kept(id)',
        replace: '',
      },
      {
        name: 'authors-keep-to-their-own',
        what: 'P21: an author changes no plugin of somebody else',
        find: 'if (before && !by.mayEnable && owner !== by.principal) throw notYours(id)',
        replace: '',
      },
      {
        name: 'authors-enable-nothing',
        what: 'P21: what an author adds waits for an operator',
        find: 'if (!by.mayEnable) {',
        replace: 'if (false) {',
      },
      {
        name: 'no-downgrade',
        what: 'T24: an older version needs an operator who says so',
        find: 'refuseDowngrade(plugin, before)',
        replace: 'undefined',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/allow.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'not-enabled-without-grant',
        what: 'P21: nothing is enabled with what nobody allowed for this version',
        find: 'throw notGranted(row)',
        replace: 'void notGranted(row)',
      },
      {
        name: 'enabled-as-seen',
        what: 'P21: what is enabled is what was looked at',
        find: 'if (hash !== undefined && hash !== row.hash) throw changed(',
        replace: 'if (false) throw changed(',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/lifecycle.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'guards-stay',
        what: 'P16: a guard that keeps failing does not open the way',
        find: 'if (row.permit?.hooks.some(({ on }) => decidingPoints.has(on))) {',
        replace: 'if (false) {',
      },
    ],
  ),
  ...of(
    'src/storage/bundles.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'bundle-is-its-hash',
        what: 'T24: a bundle that was changed by one byte is none',
        find: "typeof text === 'string' && sha256(text) === hash",
        replace: "typeof text === 'string' && text !== ''",
      },
    ],
  ),
  ...of(
    'src/catalog/circuit-breaker.ts',
    ['test/unit/catalog/circuit-breaker.test.ts'],
    [
      {
        name: 'breaker-trips',
        what: 'P25: a plugin that keeps failing is switched off',
        find: 'if (count.faults >= maxFaults)',
        replace: 'if (false)',
      },
      {
        name: 'breaker-resets',
        what: 'P25: a call that goes well begins anew',
        find: 'if (fault === undefined) return undefined',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/governance/trust-administration.ts',
    [installTests('upload-reader')],
    [
      {
        name: 'trust-no-weak-key',
        what: 'P20: no key is accepted under which one signature fits many texts',
        find: '!weak.has(hex) &&',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/install/plugin-names.ts',
    [installTests('plugin-names')],
    [
      {
        name: 'reserved-ids',
        what: 'P27: ids that are ours are nobody else’s',
        find: "if (reserved.has(id) || id.startsWith('isola-'))",
        replace: 'if (false)',
      },
      {
        name: 'look-alike-ids',
        what: 'P27: an id that looks like another is pointed out',
        find: 'other !== id && isLookAlike(id, other)',
        replace: 'false',
      },
    ],
  ),
  ...of(
    'src/governance/policy/decide-tool.ts',
    ['test/unit/governance/policy/decide-tool.test.ts'],
    [
      {
        name: 'deny-wins',
        what: 'P4: what the operator denies is denied, whoever allows it',
        find: "if (rule !== undefined) return denied('denied_by_rule'",
        replace: "if (rule !== undefined && false) return denied('denied_by_rule'",
      },
      {
        name: 'allow-list',
        what: 'P4, C5: what is not in an allow-list is denied',
        find: "return denied('not_in_allow_list', `${where}: allow`)",
        replace: 'continue',
      },
      {
        name: 'destructive-asks',
        what: 'I27: what destroys is not called without asking',
        find: "if (isDestructive && !isListed && destructive !== 'allow' && destructive !== where)",
        replace: "if (destructive === 'none')",
      },
      {
        name: 'other-hosts-ask',
        what: 'P4: a call to a host that nobody opened is not made without asking',
        find: "const where = isElsewhere ? network.elsewhere : 'allow'",
        replace:
          "const where = isElsewhere && network.hosts.length < 0 ? network.elsewhere : 'allow'",
      },
    ],
  ),
  ...of(
    'src/contracts/destructive.ts',
    ['test/unit/governance/policy/decide-tool.test.ts'],
    [
      {
        name: 'silence-is-no-harmlessness',
        what: 'I27: a remote tool that says nothing is taken for one that destroys',
        find: "return readOnlyHint === true ? false : 'presumed'",
        replace: 'return false',
      },
    ],
  ),
  ...of(
    'src/governance/policy/live-policy.ts',
    ['test/unit/governance/policy/live-policy.test.ts'],
    [
      {
        name: 'labels-decide',
        what: 'T11: the policy reads the label of a call',
        tests: [kernelLabels],
        find: 'label: joinLabels([subject.label]),',
        replace: '',
      },
      {
        name: 'unknown-policy',
        what: 'C5: while nothing is known of the policy nothing may be called',
        find: "if (!policy) return refused(subject, { reason: 'policy_unknown', rule: '' })",
        replace: 'if (!policy) return { allow: true }',
      },
      {
        name: 'uncounted-calls',
        what: 'C5: a call that cannot be counted is not made',
        find: "return limited(subject, { reason: 'rate_unknown', rule: about, retryAfterMs: 5_000 })",
        replace: 'return { allow: true }',
      },
    ],
  ),
  ...of(
    'src/governance/rate-window.ts',
    ['test/unit/governance/rate-window.test.ts'],
    [
      {
        name: 'calls-per-minute',
        what: 'C5: no more calls than a minute may have',
        find: 'if (retryAfterMs > 0) return { retryAfterMs }',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/agents/tool-reach.ts',
    ['test/unit/agents/tool-reach.test.ts'],
    [
      {
        name: 'disallowed-tools',
        what: 'P30: an agent has no tool that its manifest disallows',
        find: 'if (disallowed.includes(owner.id) || isMatchOfAny(name, disallowed)) return false',
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/plugin-api.ts',
    ['test/unit/plugins/plugin-api.test.ts'],
    [
      {
        name: 'other-plugin-api',
        what: 'P26: a plugin of another API is refused',
        find: 'if (isCurrent) return undefined',
        replace: 'return undefined',
      },
    ],
  ),
]

const mcpUnit = 'test/unit/http/mcp/mcp.test.ts'
const mcpOffered = 'test/unit/http/mcp/offered.test.ts'
const mcpRounds = 'test/unit/http/mcp/rounds.test.ts'
const mcpHosts = 'test/unit/http/mcp/hosts.test.ts'
const mcpWorkers = 'test/workers/mcp-endpoint.workers.test.ts'

const endpoint = [
  ...of(
    'src/contracts/exposure.ts',
    ['test/unit/contracts/exposure.test.ts'],
    [
      {
        name: 'exposed-everything',
        what: 'issue 6: no choice names what is not installed yet',
        find: '/^[A-Za-z0-9][A-Za-z0-9_-]*__(\\*|[A-Za-z0-9_-]+)$/,',
        replace: '/./,',
      },
    ],
  ),
  ...of(
    'src/agents/direct-call.ts',
    ['test/unit/agents/direct-call.test.ts'],
    [
      {
        name: 'direct-call-once',
        what: 'a call that a client makes is made once, whatever is said to its run meanwhile',
        find: 'turn === 1 && options.directCall',
        replace: 'options.directCall',
      },
    ],
  ),
  ...of(
    'src/http/mcp/offered.ts',
    [mcpOffered],
    [
      {
        name: 'exposed-tools',
        what: 'issue 6: a tool is offered only if an operator named it',
        find: 'tools.filter(({ name }) => isMatchOfAny(name, exposed.tools))',
        replace: 'tools',
      },
      {
        name: 'mcp-hints-not-made-up',
        what: 'I27: no client is told that a tool destroys nothing when nobody said so',
        find: '...(isDestructive === true && { destructiveHint: true })',
        replace: 'destructiveHint: isDestructive',
      },
      {
        name: 'exposed-agents',
        what: 'issue 6: an agent is offered only if an operator named it',
        find: 'agents.filter(({ name }) => named.includes(name))',
        replace: 'agents',
      },
      {
        name: 'exposed-names-once',
        what: 'N10: no tool takes the name of another one, or of an agent',
        find: 'taken.has(bare) || full.has(bare) ? tool.name : bare',
        replace: 'bare',
      },
      {
        name: 'full-names-first',
        what: 'N10: a bare name is nobody else’s full name',
        find: 'taken.has(bare) || full.has(bare)',
        replace: 'taken.has(bare)',
      },
    ],
  ),
  ...of(
    'src/http/mcp/hosts.ts',
    [mcpHosts],
    [
      {
        name: 'mcp-hosts',
        what: 'T17: a name that nobody gave this deployment is refused',
        find: 'return [...local, ...own, ...configured]',
        replace: 'return [url.hostname, ...local, ...own, ...configured]',
      },
    ],
  ),
  ...of(
    'src/http/mcp/mcp.ts',
    [mcpHosts],
    [
      {
        name: 'mcp-host-check',
        what: 'T17: the host of a request is looked at',
        find: 'allowedHostnames: hosts,',
        replace: "allowedHostnames: [new URL(`http://${request.headers.get('host')}`).hostname],",
      },
      {
        name: 'mcp-origin-check',
        what: 'T17: the page that sends a request is looked at',
        find: 'allowedOriginHostnames: hosts,',
        replace: "allowedOriginHostnames: '*',",
      },
      {
        name: 'mcp-no-endless-streams',
        what: 'T27: no stream is kept open on which nothing is ever said',
        tests: [mcpRounds],
        find: "if (body['method'] === 'subscriptions/listen') return noSubscriptions(body)",
        replace: '',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/plugin-kind.ts',
    ['test/unit/plugins/lifecycle.test.ts'],
    [
      {
        name: 'exposed-by-name-only',
        what: 'issue 6: what comes under the name of one that was removed is not exposed',
        find: '{ ...remove(situation), removed: change.id }',
        replace: 'remove(situation)',
      },
    ],
  ),
  ...of(
    'src/plugins/lifecycle/servers.ts',
    ['test/workers/mcp.workers.test.ts'],
    [
      {
        name: 'exposed-by-server-name',
        what: 'issue 6: nor is a server under the name of one that was removed',
        filter: 'is not exposed',
        find: "...(change.do === 'remove' && { removed: change.id }),",
        replace: '',
      },
    ],
    'workers',
  ),
  ...of(
    'src/http/app.ts',
    ['test/unit/http/cors.test.ts'],
    [
      {
        name: 'mcp-cors',
        what: 'T17: no page reads an answer of /mcp that may not send it a request',
        find: '.includes(page) ? origin : null',
        replace: '.includes(page) ? origin : origin',
      },
    ],
  ),
  ...of(
    'src/http/mcp/offered-resources.ts',
    [mcpUnit],
    [
      {
        name: 'exposed-resources',
        what: 'issue 6: resources of an owner that nobody named are not there',
        find: 'offers.resources.filter(({ owner }) => exposed.resources.includes(owner))',
        replace: 'offers.resources.filter(() => exposed)',
      },
      {
        name: 'resources-of-one-owner',
        what: 'N10: no owner answers for what another one has too, exactly or by a template',
        find: 'isOurs(uri) || another !== undefined ?',
        replace: 'isOurs(uri) ?',
      },
      {
        name: 'resources-of-two-unlisted',
        what: 'N10: what several owners have is in no list',
        find: 'possible.filter((listing) => !isContested(listing))',
        replace: 'possible',
      },
      {
        name: 'templates-of-one-form',
        what: 'N10: another name of a variable makes no other template',
        find: "uri.replace(/\\{[^{}]*\\}/g, '{}')",
        replace: 'uri',
      },
      {
        name: 'our-uris-are-ours',
        what: 'N10: what is under our own scheme is no resource of a plugin',
        find: 'named.filter(({ uri }) => !isOurs(uri))',
        replace: 'named',
      },
    ],
  ),
  ...of(
    'src/http/mcp/prompts.ts',
    [mcpUnit],
    [
      {
        name: 'exposed-prompts',
        what: 'issue 6: prompts of an owner that nobody named are not there',
        find: 'offers.prompts.filter(({ owner }) => exposed.prompts.includes(owner))',
        replace: 'offers.prompts.filter(() => exposed)',
      },
      {
        name: 'full-prompt-names-first',
        what: 'N10: no prompt takes the full name of another one',
        find: 'taken.has(bare) || fullNames.has(bare)',
        replace: 'taken.has(bare)',
      },
    ],
  ),
  ...of(
    'src/kernel/compose.ts',
    ['test/unit/kernel/direct-call.test.ts'],
    [
      {
        name: 'hooks-see-direct-output',
        what: 'P15: a hook after a direct call sees all that the client gets',
        find: ', gates: { ...parts.gates, outputs } })',
        replace: ' })',
      },
    ],
  ),
  ...of(
    'src/http/mcp/outcome.ts',
    [mcpUnit],
    [
      {
        name: 'mcp-bugs-untold',
        what: 'docs/design.md section 10: of a bug a client is told nothing',
        find: "return toFailure('internal_error', 'Something went wrong on our side.')",
        replace: "return toFailure('internal_error', errorMessage(error))",
      },
    ],
  ),
  ...of(
    'src/http/mcp/server.ts',
    [mcpWorkers],
    [
      {
        name: 'mcp-state-of-its-caller',
        what: 'T17: what a client carries between two requests is of no use to another principal',
        find: 'JSON.stringify([caller.principal, mcpReq.method])',
        replace: 'mcpReq.method',
      },
    ],
    'workers',
  ),
  ...of(
    'src/http/mcp/mcp-call.ts',
    [mcpWorkers],
    [
      {
        name: 'mcp-state-of-its-call',
        what: 'T17: nor of use for another call',
        find: "throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'requestState: is of another call.')",
        replace: 'return state',
      },
    ],
    'workers',
  ),
  ...of(
    'src/http/mcp/mcp-call.ts',
    [mcpRounds],
    [
      {
        name: 'answers-to-what-was-shown',
        what: 'T21: an answer that came over /mcp holds for the question that was shown',
        find: 'given.filter(([key]) => shown.has(key))',
        replace: 'given.filter(() => shown)',
      },
    ],
  ),
  ...of(
    'src/http/mcp/caller.ts',
    [mcpWorkers],
    [
      {
        name: 'mcp-key-reach',
        what: 'I26: a key that may not talk to the orchestrator is offered none of its tools',
        find: 'tools: isOrchestrators ? await toolsFor(deps, exposed) : [],',
        replace: 'tools: await toolsFor(deps, exposed),',
      },
    ],
    'workers',
  ),
]

export const switches = [
  ...askingSwitches,
  ...granted,
  ...oauth,
  ...uploads,
  ...hooks,
  ...isolates,
  ...kernel,
  ...inner,
  ...agents,
  ...session,
  ...object,
  ...governance,
  ...models,
  ...exported,
  ...secrets,
  ...mcp,
  ...outcomes,
  ...pinned,
  ...context,
  ...endpoint,
  ...rest,
]
