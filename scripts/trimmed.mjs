// What the Worker never reaches of the packages that it carries: methods by their class, and under `''` functions and
// tables of a module; `bodies` have functions that do less, `blocks` are told by their first lines, and `keeps` names
// tables of which no other entries stay. What only they use the bundler leaves out, since nothing names it any
// longer. See docs/decisions/0064-packages-without-what-is-not-used.md before adding one: a request must not be able
// to reach it.

/** Files of packages, the folder of ours that uses each, and what is left out of it. */
export const trimmed = [
  {
    // An authorization server for resources that our own code guards. Its grants are codes and refresh tokens, and
    // clients come by registration or by their document. The checks of an option that is off are left in.
    package: '@cloudflare/workers-oauth-provider',
    file: 'dist/oauth-provider.js',
    room: 'src/features/access/oauth',
    without: {
      OAuthProviderImpl: [
        'assertRouteCoveredByResource',
        'validateHandler',
        'handleProtectedResourceMetadata',
        'createExternalTokenErrorResponse',
        'exchangeToken',
        'handleTokenExchangeGrant',
        'resolveTokenExchangeResource',
        'handleJwtBearerGrant',
        'runEmaPipeline',
        'verifyAssertionSignature',
        'issueEmaAccessToken',
        'handleApiRequest',
        'findResourceServerForMetadataUrl',
        'findApiRouteForUrl',
        'matchApiRoute',
        'buildWwwAuthenticateHeader',
        'getResourceMetadataUrlForRequest',
      ],
      OAuthHelpersImpl: [
        'isConsentRemembered',
        'createClient',
        'listClients',
        'updateClient',
        'deleteClient',
        'listUserGrants',
        'unwrapToken',
        'exchangeToken',
      ],
      '': ['isConsentRemembered', 'rememberApproval', 'validateRememberConsentOptions'],
    },
    // It is no guard of resources, has no other kinds of grants, and what is asked before tokens are made changes
    // none of them.
    blocks: [
      'if (!roleBased) {',
      'if (this.options.enterpriseManagedAuthorization) {',
      'if (servesProtectedResources && this.isProtectedResourceMetadataPath(url)) {',
      'if (callbackResult) {',
      'if (grantPropsChanged) {',
      'if (accessTokenProps !== grantProps) {',
      'if (options.scope !== void 0) {',
    ],
  },
  {
    // A table for readers of the package, and JSON Schema of schemas that are objects of a library. Of the checks by
    // the name of a type, all others of which are for callers, the client itself asks for one.
    package: '@modelcontextprotocol/server',
    file: 'dist/src-DdvbAHrR.mjs',
    room: 'src/surfaces/mcp',
    without: {
      '': [
        'INBOUND_VALIDATION_LADDER',
        'standardSchemaToJsonSchema',
        'convertStandardElicitationSchema',
        'walkRequestedSchema',
        'findDroppedConstraintPaths',
        'describeUnsupportedProperties',
      ],
    },
    keeps: {
      SPEC_SCHEMA_KEYS: ['ImplementationSchema'],
      schemas_exports: ['ImplementationSchema'],
      authSchemas: [],
    },
  },
  {
    // A server that is made for each request and answers by request handlers: nothing is registered with it, with a
    // scope or without, and it asks its client nothing but by an answer that says so.
    package: '@modelcontextprotocol/server',
    file: 'dist/mcp-oHn3ureC.mjs',
    room: 'src/surfaces/mcp',
    without: {
      LegacyInputRequiredShim: ['fulfill', '_dispatchLeg'],
      '': ['validateScopeChallenge', 'createScopeChallengeResponse'],
      Server: [
        'ping',
        'createMessage',
        'elicitInput',
        '_sendElicitationLeg',
        'createElicitationCompletionNotifier',
        'listRoots',
      ],
      McpServer: [
        'setToolRequestHandlers',
        'createToolError',
        'validateToolInput',
        'validateToolOutput',
        'executeToolHandler',
        'setCompletionRequestHandler',
        'handlePromptCompletion',
        'handleResourceCompletion',
        'setResourceRequestHandlers',
        'setPromptRequestHandlers',
        'registerResource',
        '_createRegisteredResource',
        '_createRegisteredResourceTemplate',
        '_createRegisteredPrompt',
        '_createRegisteredTool',
        'registerTool',
        'registerPrompt',
        'toolInputSchemaJson',
      ],
    },
  },
  {
    // Clients of 2025 are answered by `POST` alone, before this is asked; no stream is kept and none is gone on with.
    package: '@modelcontextprotocol/server',
    file: 'dist/index.mjs',
    room: 'src/surfaces/mcp',
    without: {
      WebStandardStreamableHTTPServerTransport: [
        'handleGetRequest',
        'replayEvents',
        'handleDeleteRequest',
        'closeSSEStream',
        'closeStandaloneSSEStream',
      ],
      '': ['createLegacyStatelessFallback'],
    },
    blocks: [
      'if (this._enableJsonResponse) return new Promise((resolve) => {',
      'if (this._enableJsonResponse && stream.resolveJson) {',
      'if (isJSONRPCRequest(message) && this._eventStore && this.supportsEmptySSEData(clientProtocolVersion)) {',
    ],
  },
  {
    // A request for a subscription is refused before it reaches this function.
    package: '@modelcontextprotocol/server',
    file: 'dist/listenRouter-Bartj63y.mjs',
    room: 'src/surfaces/mcp',
    without: {},
    blocks: ['function serve(message, signal, capabilities, serverInfo) {'],
  },
  {
    // Lists are read page by page with limits of our own, and what a server tells of its lists comes as a notification.
    package: '@modelcontextprotocol/client',
    file: 'dist/public-CvV4ZHkX.mjs',
    room: 'src/features/mcp-servers',
    without: {
      Client: [
        'registerCapabilities',
        'setVersionNegotiation',
        'ping',
        'discover',
        'complete',
        'setLoggingLevel',
        'listPrompts',
        'listResources',
        'listResourceTemplates',
        'listTools',
        '_listAllPages',
        '_walkPages',
        'subscribeResource',
        'unsubscribeResource',
        'listen',
        'sendRootsListChanged',
        '_setupListChangedHandlers',
        '_setupListChangedHandler',
        '_excludeInvalidXMcpHeaderTools',
      ],
      // Each call brings the definition of its tool.
      ClientResponseCache: ['toolDefinition', 'outputValidator', '_decodeListTools'],
      '': ['negotiateStdioViaSibling', 'readStdioServerParams'],
    },
  },
  {
    // Our sign-ins use bearer tokens: no provider of ours has keys to bind them to (DPoP).
    package: '@modelcontextprotocol/client',
    file: 'dist/index.mjs',
    room: 'src/features/mcp-servers',
    without: {
      StreamableHTTPClientTransport: ['resumeStream'],
      '': ['withDpopFromProvider', 'isDpopNonceChallenge'],
    },
  },
  {
    // Requests are authenticated before, and the router answers pages.
    package: 'agents',
    file: 'dist/handler-stateless-B5hU3dxK.js',
    room: 'src/surfaces/mcp',
    without: { '': ['getVerifiedOAuthAuthInfo', 'runWithAuthContext', 'corsHeaders'] },
  },
  {
    // No other application stands under a path of ours.
    package: 'hono',
    file: 'dist/hono-base.js',
    room: 'src/surfaces/http',
    without: { Hono: ['mount'] },
  },
  {
    // Start, one alarm and jobs of objects that are called by RPC alone: nothing comes to them as a request or a
    // socket, and nothing is added to them.
    package: 'agents',
    file: 'dist/lifecycle-v1rKHV2C.js',
    room: 'src/runtime/session',
    without: {
      CapabilityRunner: [
        'request',
        'webSocketUpgrade',
        'webSocketMessage',
        'webSocketClose',
        'webSocketError',
        'route',
        'dispose',
      ],
      JobDriver: ['trackAlarmWork'],
      Lifecycle: [
        'use',
        'route',
        'sql',
        'fetch',
        'webSocketMessage',
        'webSocketClose',
        'webSocketError',
        'trackAlarmWork',
        'dispose',
        'disableAlarms',
      ],
    },
  },
  {
    // Templates are parsed by it and rendered by an interpreter of ours, without its clock and `range`. What it does
    // with a tag of another project before it parses takes the square of the blanks of a text (issue 31: 32,000 held
    // the server).
    package: '@huggingface/jinja',
    file: 'dist/index.js',
    room: 'src/features/memory',
    without: { Template: ['format'], '': ['setupGlobals'] },
    bodies: {
      preprocess: String.raw`return (template.endsWith("\n") ? template.slice(0, -1) : template).replace(/^[ \t]*({[#%-])/gm, "$1").replace(/([#%-]})\n/g, "$1");`,
    },
  },
]
