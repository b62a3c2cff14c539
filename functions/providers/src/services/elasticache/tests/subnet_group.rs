use ebb_core::{ErrorClass, Step};
use serde_json::json;

use crate::testing::{Bench, Script, pending};

fn group() -> Bench {
    Bench::new("AWS::ElastiCache::SubnetGroup", "private", json!({}))
}

const DELETE: &[&str] = &["Action=DeleteCacheSubnetGroup&", "CacheSubnetGroupName=private"];

#[tokio::test]
async fn a_subnet_group_goes_at_once() {
    assert_eq!(group().next(Script::new().query(DELETE, "DeleteCacheSubnetGroup", "")).await, Ok(Step::DELETED));
    let script = Script::new().query_error(DELETE, "CacheSubnetGroupNotFoundFault", "no");
    assert_eq!(group().next(script).await, Ok(Step::ALREADY_GONE));
    let script = Script::new().query_error(DELETE, "AccessDenied", "not found");
    assert_eq!(group().next(script).await.map_err(|e| e.class), Err(ErrorClass::Denied));
    let mut bench = group();
    bench.fence(false);
    assert_eq!(bench.next(Script::new()).await.map_err(|e| e.class), Err(ErrorClass::FenceShut));
}

#[tokio::test]
async fn a_subnet_group_in_use_waits_for_what_stands_in_it() {
    let held = || {
        let one = |id: &str, group: &str| {
            format!(
                "<CacheCluster><CacheClusterId>{id}</CacheClusterId><CacheSubnetGroupName>{group}</CacheSubnetGroupName></CacheCluster>"
            )
        };
        let list = format!("<CacheClusters>{}{}</CacheClusters>", one("other", "public"), one("orders", "private"));
        Script::new().query_error(DELETE, "CacheSubnetGroupInUse", "in use").query(
            &["DescribeCacheClusters"],
            "DescribeCacheClusters",
            &list,
        )
    };
    let mut bench = group();
    assert_eq!(pending(bench.next(held()).await), (15, "CacheSubnetGroupInUse: held by orders (cache cluster)".to_owned()));
    bench.pass(1799);
    pending(bench.next(held()).await);
    bench.pass(1);
    assert_eq!(bench.next(held()).await.map_err(|e| e.class), Err(ErrorClass::Terminal));
}
