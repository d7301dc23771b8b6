import { StateError } from "../../errors.ts";
import { fetchWithoutRedirects } from "../../models/fetch-without-redirects.ts";
import { environmentValue, type OpenedModel, type ProviderOptions } from "../../models/provider.ts";
import { configLocation, type OciProfile, readProfile } from "./config-file.ts";
import { signingCredentials } from "./credentials.ts";
import { signingFetch } from "./signing-fetch.ts";

interface OpenAiCompatiblePackage {
  createOpenAICompatible(settings: object): (modelId: string) => object;
}

/**
 * OCI Generative AI through its OpenAI-compatible endpoint: with an API key of
 * the service (OCI_GENAI_API_KEY), else signed with the profile of ~/.oci/config.
 */
export async function open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel> {
  const apiKey = options.apiKey ?? environmentValue(options, "OCI_GENAI_API_KEY");
  const location = configLocation(options);
  const profile = await readProfile(location, { required: apiKey === undefined });
  const compartment =
    environmentValue(options, "OCI_COMPARTMENT_ID") ?? (apiKey === undefined ? profile?.["tenancy"] : undefined);
  const send = fetchWithoutRedirects(options.fetch);
  const provider = (sdk as OpenAiCompatiblePackage).createOpenAICompatible({
    name: "oci",
    baseURL: options.baseUrl ?? endpointOf(options, profile),
    includeUsage: true,
    // The service's interfaces read the compartment under different names.
    headers: {
      ...(compartment !== undefined && { "opc-compartment-id": compartment, CompartmentId: compartment }),
      ...options.headers,
    },
    ...(apiKey === undefined
      ? { fetch: signingFetch(() => signingCredentials(location), send) }
      : { apiKey, fetch: send }),
  });
  return { languageModel: provider(modelId), secrets: apiKey === undefined ? [] : [apiKey] };
}

function endpointOf(options: ProviderOptions, profile: OciProfile | undefined): string {
  const region = environmentValue(options, "OCI_REGION", "OCI_CLI_REGION") ?? profile?.["region"];
  if (region === undefined) {
    throw new StateError("INVALID_ARGUMENT", "oci: no region; set OCI_REGION, or `region` in the OCI config file");
  }
  // The name becomes part of a host: nothing else may get in with it.
  if (!/^[a-z0-9-]+$/i.test(region)) {
    throw new StateError(
      "INVALID_ARGUMENT",
      `oci: ${JSON.stringify(region)} is not a region; one looks like us-chicago-1`,
    );
  }
  return `https://inference.generativeai.${region.toLowerCase()}.oci.oraclecloud.com/openai/v1`;
}
