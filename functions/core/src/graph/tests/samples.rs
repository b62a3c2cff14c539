use super::super::testing::nodes;
use crate::Graph;
use crate::state::Layout;
use crate::state::samples::{self, doc};

fn graph(stack: &str, sample: &str, layout: Layout) -> Graph {
    Graph::build(nodes(stack, &doc(sample, layout))).unwrap()
}

/// Waves of levels, each as sorted logical ids.
fn waves(graph: &Graph) -> Vec<Vec<&str>> {
    let named = |wave: &Vec<usize>| {
        let mut ids: Vec<&str> = wave.iter().map(|&n| graph.nodes()[n].row.logical_id.as_str()).collect();
        ids.sort_unstable();
        ids
    };
    graph.levels().iter().map(named).collect()
}

#[track_caller]
fn assert_waves(graph: &Graph, table: &str) {
    let want: Vec<Vec<&str>> = table.split('·').map(|wave| wave.split(',').map(str::trim).collect()).collect();
    assert_eq!(waves(graph), want);
    assert!(graph.warnings.is_empty(), "{:?}", graph.warnings);
}

// The level scheme: what cdkd deletes together.
#[test]
fn levels_of_the_samples() {
    assert_waves(
        &graph("LegacyMailer", samples::LEGACY, Layout::Legacy),
        "BounceQueuePolicy0E9B, BounceSubscriptionC4D8 · BounceQueue55D0, BounceTopicA1C3, OutboxTable7F21, SenderParam2B60",
    );
    assert_waves(
        &graph("EdgeNetwork", samples::NETWORK, Layout::Regional),
        "PagingAlarm26, TickPermission24 · ErrorsAlarm25, Tick23 · Worker19 · PrivateDefault15 · Nat14 · \
         NatIp13, PublicDefault12 · CacheFromWorker18, IgwAttach03, PrivateAssocA10, PrivateAssocB11, PublicAssoc09 · \
         CacheGroup17, Igw02, PrivateRoutes08, PrivateSubnetA05, PrivateSubnetB06, PublicRoutes07, PublicSubnet04, \
         WorkerGroup16, WorkerPolicy21 · Vpc01, WorkerLogs22, WorkerRole20",
    );
    assert_waves(
        &graph("Storefront~SearchNested1B", samples::NESTED_CHILD, Layout::Regional),
        "IndexerSource3D · Indexer2C · IndexQueue0A, IndexerRole1B",
    );
    assert_waves(
        &graph("Storefront", samples::NESTED_PARENT, Layout::Regional),
        "IndexParam2C · SearchNested1B · CatalogTable0A, EmptyNested3D",
    );
    assert_waves(&graph("SharedBus", samples::EXPORTER, Layout::Regional), "AuditRule1B · AuditLogs2C, Bus0A");
    assert_waves(&graph("Billing", samples::IMPORTER, Layout::Regional), "InvoiceRule0A, InvoiceTable1B");
    assert_waves(
        &graph("TenantPortal", samples::LATEST, Layout::Regional),
        // cdkd has CleanerFn4E beside CleanerPolicy3D; a user of a role goes before the role's policies here.
        "AssetsCleaner5F, NightlySchedulA4, SeedTenant60 · CleanerFn4E · AssetsPolicy1B, CleanerPolicy3D, HttpStage82 · \
         AssetsBucket0A, CleanerRole2C, HttpApi71, MetadataE8, OperatorKeyD7, OrdersResolver93, TenantsDbB5, UsersC6",
    );
    let policies = graph("LedgerData", samples::POLICIES, Layout::Regional);
    let found = waves(&policies);
    assert_eq!(found[..2], [vec!["ReportWriter5F"], vec!["LedgerDb3D", "ReportCluster4E"]]);
    assert_eq!((found.len(), found[2].len()), (3, 8));
}

// A dangling dependency (RetiredAuthorizer0000) is warned of and ignored.
#[test]
fn levels_of_the_api() {
    let api = graph("OrdersApi", samples::REST_API, Layout::Regional);
    assert_eq!(api.warnings.len(), 1, "{:?}", api.warnings);
    assert!(api.warnings[0].contains("RetiredAuthorizer0000"));
    let want = "StageProd8800 · Deployment63A1 · InvokePermission5C44, OrdersGet2E8B · Handler3D05 · \
                HandlerPolicy41AA, OrdersResource1F7A · HandlerLogs77E2, HandlerRole9B1C, RestApiC0DE";
    let want: Vec<Vec<&str>> = want.split('·').map(|wave| wave.split(',').map(str::trim).collect()).collect();
    assert_eq!(waves(&api), want);
}

// Edges that come from rules and not from `dependencies`: exactly those that the resolved ids call for.
#[test]
fn rule_edges_of_the_network() {
    let doc = doc(samples::NETWORK, Layout::Regional);
    let recorded: Vec<(String, String)> = doc
        .rows()
        .flat_map(|row| row.dependencies.into_iter().map(move |d| (format!("S/{}", row.logical_id), format!("S/{d}"))))
        .collect();
    let graph = Graph::build(nodes("S", &doc)).unwrap();
    let added: Vec<String> = graph
        .edges()
        .into_iter()
        .filter(|(a, b)| !recorded.contains(&((*a).to_owned(), (*b).to_owned())))
        .map(|(a, b)| format!("{}>{}", &a[2..], &b[2..]))
        .collect();
    assert_eq!(added, ["Igw02>Vpc01", "Nat14>Igw02", "Nat14>IgwAttach03", "PagingAlarm26>ErrorsAlarm25"]);
}

// Both custom resources of the latest sample go before their handler, its role and its policy.
#[test]
fn custom_resources_of_the_latest_sample() {
    let graph = graph("S", samples::LATEST, Layout::Regional);
    for custom in ["AssetsCleaner5F", "SeedTenant60"] {
        for later in ["CleanerFn4E", "CleanerRole2C", "CleanerPolicy3D"] {
            assert!(graph.arrows().contains(&format!("{custom}>{later}")), "{custom} before {later}");
        }
    }
    for later in ["AssetsBucket0A", "AssetsPolicy1B"] {
        assert!(graph.arrows().contains(&format!("AssetsCleaner5F>{later}")), "{later}");
    }
}

// The child's rows: after what needs the nested row, before what it needs.
#[test]
fn parent_and_child_as_one_graph() {
    let mut all = nodes("Storefront", &doc(samples::NESTED_PARENT, Layout::Regional));
    all.extend(nodes("Storefront~SearchNested1B", &doc(samples::NESTED_CHILD, Layout::Regional)));
    let graph = Graph::build(all).unwrap();
    let (parent, child) = ("Storefront/", "Storefront~SearchNested1B/");
    let across: Vec<(&str, &str)> =
        graph.edges().into_iter().filter(|(a, b)| a.starts_with(parent) != b.starts_with(parent)).collect();
    let id = |stack: &str, row: &str| format!("{stack}{row}");
    let nested = id(parent, "SearchNested1B");
    let mut want = vec![(id(parent, "IndexParam2C"), id(child, "IndexerSource3D"))];
    want.extend(["IndexQueue0A", "Indexer2C", "IndexerRole1B", "IndexerSource3D"].map(|row| (id(child, row), nested.clone())));
    assert_eq!(across, want.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>());
}
