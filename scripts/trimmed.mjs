// What the Worker never reaches of the packages that it carries: methods by their class, and under `''` functions and tables
// of a module. What only they use the bundler leaves out, since nothing names it any longer. See
// docs/decisions/0064-packages-without-what-is-not-used.md before adding one: a request must not be able to reach it.

/** Files of packages, the folder of ours that uses each, and what is left out of it. */
export const trimmed = [
  {
    // An authorization server for resources that our own code guards. Its grants are codes and refresh tokens, and clients
    // come by registration or by their document. The checks of an option that is off are left in.
    package: '@cloudflare/workers-oauth-provider',
    file: 'dist/oauth-provider.js',
    room: 'src/governance/oauth',
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
      ],
      OAuthHelpersImpl: [
        'createClient',
        'listClients',
        'updateClient',
        'deleteClient',
        'listUserGrants',
        'unwrapToken',
        'exchangeToken',
      ],
    },
  },
]
